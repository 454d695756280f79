#include "tree/check/sums.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace rdcp::tree {
namespace {

constexpr std::string_view kLetters = "fdlhpscb";  // indexed by EntryType
constexpr std::size_t kDigestText = 32;

std::string hex_of(const io::Digest& digest) {
  std::string text;
  for (const std::byte byte : digest.bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::optional<io::Digest> parse_digest(std::string_view text) {
  io::Digest digest;
  if (text.size() != kDigestText) return std::nullopt;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    unsigned value = 0;
    if (std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) return std::nullopt;
    digest.bytes[i] = static_cast<std::byte>(value);
  }
  return digest;
}

std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == '\\') text += "\\\\";
    if (c == '\n') text += "\\n";
    if (c != '\\' && c != '\n') text += c;
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      path += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] == 'n') {
      path += '\n';
    } else if (text[i] == 'r') {
      path += '\r';
    } else if (text[i] == '\\') {
      path += '\\';
    } else {
      return std::nullopt;
    }
  }
  return path;
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

io::Error wrong(std::string_view what) {
  return io::plain_error(io::ErrorKind::file, "", "", what);
}

// Takes the next word before the path; in the end, what is left is the path.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return word;
}

bool take_path(std::string_view text, bool is_escaped, SumLine& line) {
  auto path = is_escaped ? unescaped(text) : std::string(text);
  if (!path || path->empty()) return false;
  std::string_view rest = *path;
  while (rest.starts_with("./") && rest.size() > 2) rest.remove_prefix(2);
  line.path = rest == "." ? "" : rest;
  return line.path.empty() || is_safe_path(line.path);
}

io::Result<SumLine> parse_manifest_line(std::string_view text) {
  SumLine line;
  const std::string_view type = take_word(text);
  const std::size_t at = type.size() == 1 ? kLetters.find(type[0]) : kLetters.npos;
  if (at == kLetters.npos || type[0] == 'h')
    return wrong("does not begin with the letter of a type of entry");
  line.type = static_cast<EntryType>(at);
  const std::string_view size = take_word(text);
  const bool is_file = line.type == EntryType::file;
  if (is_file ? !parse_number(size, line.size) : size != "-") return wrong("its second word is no size");
  const std::string_view time = take_word(text);
  const std::size_t dot = time.find('.');
  std::uint32_t nanoseconds = 0;
  if (dot == time.npos || time.size() - dot != 10 || !parse_number(time.substr(0, dot), line.mtime) ||
      !parse_number(time.substr(dot + 1), nanoseconds)) {
    return wrong("its third field is not a time");
  }
  line.mtime_ns = nanoseconds;
  const std::string_view digest = take_word(text);
  const bool has_digest = is_file || line.type == EntryType::symlink;
  const auto parsed = parse_digest(digest);
  if (has_digest ? !parsed : digest != "-") return wrong("its fourth word is no digest");
  if (has_digest) line.digest = *parsed;
  if (!take_path(text, true, line)) return wrong("its path does not lie beneath a directory");
  return line;
}

io::Result<SumLine> parse_xxhsum_line(std::string_view text) {
  SumLine line;
  line.has_facts = false;
  const bool is_escaped = text.starts_with('\\');
  if (is_escaped) text.remove_prefix(1);
  const auto digest = parse_digest(text.substr(0, kDigestText));
  if (!digest) return wrong("does not begin with a digest of 32 hexadecimal digits");
  line.digest = *digest;
  text.remove_prefix(kDigestText);
  if (!text.starts_with("  ") && !text.starts_with(" *")) return wrong("has no two blanks before its path");
  if (!take_path(text.substr(2), is_escaped, line)) {
    return wrong("its path does not lie beneath a directory");
  }
  return line;
}

}  // namespace

char letter_of(EntryType type) {
  return kLetters[static_cast<std::size_t>(type)];
}

std::string text_of(const SumLine& line, SumForm form) {
  const bool is_file = line.type == EntryType::file;
  if (form == SumForm::xxhsum) {
    if (!is_file) return {};
    const bool escape = line.path.find('\n') != std::string::npos;
    const std::string path = escape ? escaped(line.path) : line.path.empty() ? "." : line.path;
    return (escape ? "\\" : "") + hex_of(line.digest) + "  " + path + "\n";
  }
  const bool has_digest = is_file || line.type == EntryType::symlink;
  return fmt::format("{} {} {}.{:09} {} {}\n", letter_of(line.type),
                     is_file ? std::to_string(line.size) : "-", line.mtime, std::uint32_t{line.mtime_ns},
                     has_digest ? hex_of(line.digest) : "-", line.path.empty() ? "." : escaped(line.path));
}

io::Result<SumLine> parse_sum_line(std::string_view text, SumForm form) {
  if (text.find('\0') != text.npos) return wrong("has a NUL");
  return form == SumForm::manifest ? parse_manifest_line(text) : parse_xxhsum_line(text);
}

}  // namespace rdcp::tree
