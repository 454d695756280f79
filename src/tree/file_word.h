// The word behind an operator "<", ">" or ">>", as the user's shell understands it.
#pragma once

#include <sys/types.h>

#include <string>

#include "io/result.h"

namespace rdcp::tree {

// The name of the file. A word of plain characters is one as it stands; any other (quotes, "~", variables,
// patterns) is handed to the user's shell. Error: it does not come to exactly one name.
io::Result<std::string> file_of_word(const std::string& word, mode_t umask);

}  // namespace rdcp::tree
