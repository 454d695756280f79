// A file that the user has named for us to read: a list, a set of rules.
#pragma once

#include <cstddef>
#include <string>

#include "io/result.h"

namespace rdcp::cli {

// The whole content. path "-": standard input, whatever it is; else a regular file. For root no symlink on
// the way may belong to another user: who can swap one would choose what root reads. Errors (file): it cannot
// be opened or read, is no regular file, is longer than bytes_max.
io::Result<std::string> read_known_file(const std::string& path, std::size_t bytes_max);

}  // namespace rdcp::cli
