#include "io/result.h"

#include <fmt/format.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

namespace rdcp::io {
namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

// Bytes of the well-formed UTF-8 sequence that `text` starts with (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF), or 0.
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

// C0 and DEL are one byte; C1 is U+0080 to U+009F, some terminals obey it in UTF-8 too.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
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

std::string cause_of(const Error& error) {
  if (!error.detail.empty()) return error.detail;
  if (const char* description = strerrordesc_np(error.code)) return description;
  return fmt::format("error {}", error.code);
}

}  // namespace

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
  std::string line;
  line.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, length == 0 ? 1 : length);
    if (character == "\\") {
      line += "\\\\";
    } else if (length == 0 || is_control(character)) {
      append_escaped(line, character);
    } else {
      line += character;
    }
    bytes.remove_prefix(character.size());
  }
  return line;
}

}  // namespace rdcp::io
