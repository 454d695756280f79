// The only resolver: it looks names up beneath a held directory, and follows no symlink on the way unless it
// is told to.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// Opens path beneath root by openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
// (Linux 5.6). path has components separated by single slashes; an empty one is root itself. A path of
// PATH_MAX bytes or more is walked in pieces. On failure the descriptor is empty and errno is set: ELOOP if a
// component is a symlink, EXDEV if the path would leave root.
io::Fd open_beneath(int root, std::string_view path, int flags, mode_t mode = 0);

// Opens path from root on as openat(2) does: it follows symbolic links, wherever they lead, but none of those
// of /proc that are no paths. Only for reading what a user wants to be read so (--copy-links).
io::Fd open_following(int root, std::string_view path, int flags);

// Joins "a" and "b" to "a/b"; an empty part adds nothing.
std::string join_path(std::string_view parent, std::string_view name);

}  // namespace rdcp::tree
