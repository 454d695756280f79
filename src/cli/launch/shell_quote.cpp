#include "cli/launch/shell_quote.h"

#include <algorithm>

namespace rdcp::cli {
namespace {

// True for letters, digits and what no shell gives a meaning to within a word. '~', '=' and '%' are missing
// on purpose.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./+:@,").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    // Within single quotes only the single quote itself is special (POSIX, Shell Command Language, 2.2.2).
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string quote_option(std::string_view option) {
  const auto needs_none = [](char c) { return is_plain(c) || c == '=' || c == '%'; };
  const bool plain = option.starts_with("--") && std::ranges::all_of(option, needs_none);
  return plain ? std::string(option) : shell_quote(option);
}

}  // namespace rdcp::cli
