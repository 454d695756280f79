// Opens files that the user has named for rdcp to read: a list, a set of rules, a key.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::cli {

// Opens a regular file for reading, and does not wait if the path names something else. For root no symlink
// on the way may belong to another user: whoever can swap one would choose what root reads. Errors (file): it
// cannot be opened, or is not a regular file; the message then gives `instead` as advice.
io::Result<io::Fd> open_known_file(const std::string& path, std::string_view instead);

// Returns the whole content of what open_known_file() opens. Errors (file): also that it cannot be read, or
// is longer than bytes_max.
io::Result<std::string> read_known_file(const std::string& path, std::size_t bytes_max);

// Returns the whole content of a file that open_known_file() has opened by this path.
io::Result<std::string> read_opened(int fd, const std::string& path, std::size_t bytes_max);

// True if read_list() reads standard input.
bool is_standard_input(const std::string& path);

// True if what read_list() reads cannot be read twice: a descriptor of this process, or a FIFO.
bool is_read_once(const std::string& path);

// Returns the whole content of a list, as read_known_file() does, or what comes until the end of a FIFO, of
// /dev/null, or of a descriptor of this process: "-", /dev/stdin, /dev/fd/N and /proc/self/fd/N, as the
// shell's
// <(COMMAND) names it. Errors (interrupted): a signal that is to end the program came first
// (cli/text/process.h).
io::Result<std::string> read_list(const std::string& path, std::size_t bytes_max);

}  // namespace rdcp::cli
