// Reads the word behind an operator "<", ">" or ">>" as the user's shell understands it.
#pragma once

#include <sys/types.h>

#include <string>

#include "io/result.h"

namespace rdcp::tree {

// Returns the name of the file. A word of plain characters is a name as it stands; any other (quotes, "~",
// variables, patterns) is expanded by the user's shell. Error: the result is not exactly one name.
io::Result<std::string> file_of_word(const std::string& word, mode_t umask);

}  // namespace rdcp::tree
