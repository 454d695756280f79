#include "io/result.h"

#include <fmt/format.h>
#include <string.h>

#include <cstdint>

namespace rdcp::io {
namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

void append_escaped(std::string& line, std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      line += "\\n";
    } else if (byte == '\t') {
      line += "\\t";
    } else {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
}

// Returns the length of the leading bytes that no caller escapes, which is nearly all of most texts.
std::size_t plain_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && text[length] >= ' ' && text[length] < '\x7f' && text[length] != '\\')
    ++length;
  return length;
}

// kept holds ASCII characters that stay, unsafe or not.
std::string escaped(std::string_view bytes, std::string_view kept, bool backslashes) {
  std::string text;
  text.reserve(bytes.size());
  for (;;) {
    const std::size_t plain = plain_length(bytes);
    text += bytes.substr(0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) return text;
    const std::size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, length == 0 ? 1 : length);
    const bool is_kept = kept.find(character) != kept.npos;
    if (character == "\\" && backslashes) {
      text += "\\\\";
    } else if (!is_kept && (length == 0 || is_unsafe(character))) {
      append_escaped(text, character);
    } else {
      text += character;
    }
    bytes.remove_prefix(character.size());
  }
}

std::string cause_of(const Error& error) {
  if (!error.detail.empty()) return error.detail;
  if (const char* description = strerrordesc_np(error.code)) return description;
  return fmt::format("error {}", error.code);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : '\0'; };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !is_continuation(at(1))) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && at(1) < 0xA0;
    const bool surrogate = first == 0xED && at(1) >= 0xA0;
    return !overlong && !surrogate && is_continuation(at(2)) ? 3 : 0;
  }
  const bool overlong = first == 0xF0 && at(1) < 0x90;
  const bool too_large = first == 0xF4 && at(1) >= 0x90;
  return !overlong && !too_large && is_continuation(at(2)) && is_continuation(at(3)) ? 4 : 0;
}

bool is_unsafe(std::string_view character) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return at(0) < 0x20 || at(0) == 0x7F;
  if (character.size() == 2) return (at(0) == 0xC2 && at(1) < 0xA0) || character == "\xD8\x9C";
  if (character.size() != 3 || at(0) != 0xE2) return false;
  const bool mark = at(2) == 0x8E || at(2) == 0x8F;
  const bool separator_or_override = at(2) >= 0xA8 && at(2) <= 0xAE;
  const bool isolate = at(2) >= 0xA6 && at(2) <= 0xA9;
  return at(1) == 0x80 ? mark || separator_or_override : at(1) == 0x81 && isolate;
}

std::string Error::message() const {
  const std::string_view separator = subject.empty() ? "" : " ";
  return printable(fmt::format("{}{}{}: {}", operation, separator, subject, cause_of(*this)));
}

Error errno_error(std::string_view operation, std::string_view subject, int code, ErrorKind kind) {
  return {kind, code, std::string(operation), std::string(subject), {}};
}

Error plain_error(ErrorKind kind, std::string_view operation, std::string_view subject,
                  std::string_view detail) {
  return {kind, 0, std::string(operation), std::string(subject), std::string(detail)};
}

std::string printable(std::string_view bytes) {
  return escaped(bytes, "", true);
}

std::string visible(std::string_view bytes) {
  return escaped(bytes, "", false);
}

std::string visible_lines(std::string_view bytes) {
  return escaped(bytes, "\n\t", false);
}

}  // namespace rdcp::io
