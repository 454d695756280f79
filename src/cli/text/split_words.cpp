#include "cli/text/split_words.h"

#include <optional>
#include <utility>

namespace rdcp::cli {

io::Result<std::vector<std::string>> split_words(std::string_view option, std::string_view command) {
  std::vector<std::string> words;
  std::optional<std::string> word;  // an empty pair of quotes is a word, too
  char quote = '\0';
  for (const char c : command) {
    if (quote != '\0' && c != quote) {
      *word += c;
    } else if (quote != '\0') {
      quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
      if (!word) word.emplace();
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    } else {
      if (!word) word.emplace();
      *word += c;
    }
  }
  if (quote != '\0') return io::plain_error(io::ErrorKind::usage, option, command, "a quote is not closed");
  if (word) words.push_back(*std::move(word));
  if (words.empty() || words.front().empty()) {
    return io::plain_error(io::ErrorKind::usage, option, "'" + std::string(command) + "'",
                           "does not name a command");
  }
  return words;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace rdcp::cli
