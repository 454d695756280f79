// The one function through which words reach a shell.
#pragma once

#include <string>
#include <string_view>

namespace rdcp::cli {

// The word in the form in which a POSIX shell reads it as this one word again, whatever bytes (but NUL, which
// no argument can hold) are in it.
std::string shell_quote(std::string_view word);

}  // namespace rdcp::cli
