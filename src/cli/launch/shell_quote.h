// The one function through which words reach a shell.
#pragma once

#include <string>
#include <string_view>

namespace rdcp::cli {

// Quotes a word so that a POSIX shell reads it as this one word again, whatever bytes are in it (except NUL,
// which no argument can hold).
std::string shell_quote(std::string_view word);

}  // namespace rdcp::cli
