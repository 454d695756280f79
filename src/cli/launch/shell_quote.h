// The functions through which words reach a shell.
#pragma once

#include <string>
#include <string_view>

namespace rdcp::cli {

// Quotes a word so that a POSIX shell reads it as this one word again, whatever bytes are in it (except NUL,
// which no argument can hold).
std::string shell_quote(std::string_view word);

// Does the same with an option of an agent's. It gets no quotes if it needs none behind its two dashes, also
// where it has = or %, because what --rsh names need not be read by a shell.
std::string quote_option(std::string_view option);

}  // namespace rdcp::cli
