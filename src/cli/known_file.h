// A file that the user has named for us to read: a list, a set of rules, a key.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::cli {

// Opens a regular file for reading; nothing else is opened or waited for. For root no symlink on the way may
// belong to another user: who can swap one would choose what root reads. Errors (file): it cannot be opened,
// or is not a regular file, with `instead` as what to do then.
io::Result<io::Fd> open_known_file(const std::string& path, std::string_view instead);

// The whole content. path "-": standard input, whatever it is; else what open_known_file() opens. Errors
// (file): also that it cannot be read, or is longer than bytes_max.
io::Result<std::string> read_known_file(const std::string& path, std::size_t bytes_max);

}  // namespace rdcp::cli
