// The one resolver: names are looked up beneath a held directory, and no symlink is followed on the way.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// Opens path (components separated by single slashes; empty: the directory itself) beneath root by openat2(2)
// with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS (Linux 5.6). Paths beyond PATH_MAX are
// walked in pieces. -1 with errno set on failure: ELOOP where a component is a symlink, EXDEV where the path
// would leave root.
io::Fd open_beneath(int root, std::string_view path, int flags, mode_t mode = 0);

// "a" + "b" -> "a/b"; an empty part adds nothing.
std::string join_path(std::string_view parent, std::string_view name);

}  // namespace rdcp::tree
