// A command in one string, taken apart into its words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

// Words are separated by blanks; '...' and "..." keep blanks together, also in the middle of a word; nothing
// else is special, the backslash included (as for rsync's --rsh). Errors (usage) name `option`: no word at
// all, an open quote.
io::Result<std::vector<std::string>> split_words(std::string_view option, std::string_view command);

}  // namespace rdcp::cli
