#include "cli/text/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "io/result.h"

namespace rdcp::cli {
namespace {

// Returns the code point of a character of up to three bytes of UTF-8; no unsafe character is longer.
unsigned number_of(std::string_view character) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return at(0);
  if (character.size() == 2) return (at(0) & 0x1Fu) << 6 | (at(1) & 0x3Fu);
  return (at(0) & 0x0Fu) << 12 | (at(1) & 0x3Fu) << 6 | (at(2) & 0x3Fu);
}

}  // namespace

// dump() escapes only C0. Any unsafe character that is left, except a newline between values, is therefore in
// a string, where it may be escaped.
std::string json_text(const nlohmann::ordered_json& json, int indentation) {
  const std::string dumped =
      json.dump(indentation, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string text;
  for (std::string_view rest = dumped; !rest.empty();) {
    const std::string_view character = rest.substr(0, io::utf8_length(rest));
    const bool escaped = character != "\n" && io::is_unsafe(character);
    text += escaped ? fmt::format("\\u{:04x}", number_of(character)) : std::string(character);
    rest.remove_prefix(character.size());
  }
  return text + "\n";
}

}  // namespace rdcp::cli
