// The only functions by which the programs write to their user's terminal.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "io/write_all.h"

namespace rdcp::cli {

// These escape what is unsafe (visible_lines()), so no text can drive a terminal. They wait while a pipe is
// full; stdio would drop text there if ssh, which shares the descriptor, has made it non-blocking. If `wait`
// gives up, the rest of the text is lost, which is not an error. An error of standard error is ignored, since
// there is nobody to report it to.
io::Result<void> write_to_stdout(std::string_view text, const io::WriteWait& wait = {});
void write_to_stderr(std::string_view text, const io::WriteWait& wait = {});

// From now on, what write_to_stderr() writes is also appended to this file, each line with the time (RFC
// 3339, UTC) before it. The file is made under this umask if it is missing. A log that cannot be written any
// more is no reason to end. Errors (file): it cannot be opened, is a symlink, or is no regular file, or for
// root somebody else's symlink leads to it.
io::Result<void> open_log(const std::string& path, mode_t umask);
// Appends to that file only, if there is one.
void write_to_log(std::string_view text);
// Writes what is worth a line and no error: with --quiet into the log alone.
void write_remark(std::string_view text, bool quiet);

// Makes a file of these lines, which takes the place of an older one as a whole. A FIFO, a device, or a
// descriptor of this process (/dev/stdout) is written into. Errors (file): it cannot be written, or for root
// somebody else's symlink leads to it.
io::Result<void> write_list(const std::string& path, std::string_view lines, mode_t umask);

// Writes to standard error without allocating memory. Nothing is escaped, so the parts must be our own words.
void write_own_words(std::initializer_list<std::string_view> parts);

// Draws lines, one at least, over the line that the cursor is in and those below, and leaves the cursor in
// the first of them. before: how many lines this has drawn there; what is left of those is erased. Returns
// false, without waiting, if the terminal cannot take it now.
bool draw_lines(int terminal, const std::vector<std::string>& lines, std::size_t before);

}  // namespace rdcp::cli
