// Splits a command that is one string into its words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

// Splits at blanks. '...' and "..." keep blanks within a word, also in its middle; nothing else is special,
// not even the backslash (as for rsync's --rsh). Errors (usage) name `option`: no word or an empty first one,
// an open quote.
io::Result<std::vector<std::string>> split_words(std::string_view option, std::string_view command);

// Returns the text of a line without blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace rdcp::cli
