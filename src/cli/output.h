// The only way from the programs to their user's terminal.
#pragma once

#include <initializer_list>
#include <string_view>

#include "io/result.h"
#include "io/write_all.h"

namespace rdcp::cli {

// Whatever a text is made of, nothing in it drives a terminal: what is unsafe is escaped (visible_lines()).
// stdio would drop what a full pipe does not take where ssh, which shares the descriptor, has made it
// non-blocking; these wait. An error of standard error has nobody to be told to. Nor is it one that the wait
// was given up.
io::Result<void> write_to_stdout(std::string_view text, const io::WriteWait& wait = {});
void write_to_stderr(std::string_view text, const io::WriteWait& wait = {});

// The same where nothing may be allocated; these parts have to be our own words.
void write_own_words(std::initializer_list<std::string_view> parts);

// Draws a line over the one that the cursor is in; an empty one wipes it. Nothing is waited for: false where
// the terminal takes nothing now.
bool draw_line(int terminal, std::string_view line);

}  // namespace rdcp::cli
