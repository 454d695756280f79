// One pattern of a filter rule, ready to be matched.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::tree {

// See rsync(1), "PATTERN MATCHING RULES". Patterns match bytes, not characters; classes such as [:alpha:]
// know ASCII only.
//
// - "*" matches any bytes but a slash, "**" any bytes, "?" one byte but a slash, "[a-z]" one byte of a set,
//   "[!...]" or "[^...]" one that is not in it. "\" escapes a character, if the pattern has any wildcard.
// - With a slash at its end, a pattern matches only directories. "dir/***" matches the directory and all in
//   it.
// - With a slash at its begin, it matches the whole path. Without any slash (and without "**") it matches the
//   last name, else the end of the path from the begin of any of its names.
//
// For each name in the path, a match takes at most time in the product of both lengths, and no memory: a star
// is only lengthened if no later one can be, and one that has met a slash never again.
class Pattern {
 public:
  static constexpr std::size_t kBytesMax = 4096;

  // Error (protocol): the pattern is empty or longer than kBytesMax.
  static io::Result<Pattern> create(std::string_view text);

  // path has names separated by single slashes, and no slash at either end.
  bool matches(std::string_view path, bool is_directory) const;

 private:
  struct Token {
    enum class Kind : std::uint8_t { byte, any, set, star, star_star };
    Kind kind;
    std::uint8_t byte = 0;  // for `byte`: its value
    std::uint32_t set = 0;  // for `set`: index into sets_
  };
  using Set = std::bitset<256>;
  class Subject;

  bool tokenize(std::string_view text);
  bool fits(const Token& token, char byte) const;
  bool matches_from(const Subject& subject, std::size_t at) const;
  bool matches_anywhere(const Subject& subject) const;
  bool matches_literally(std::string_view path) const;
  // Returns the end of path that has as many names as the pattern, or nothing if path has fewer.
  std::optional<std::string_view> tail_of(std::string_view path) const;

  std::string literal_;  // what to compare with, if there are no wildcards
  std::vector<Token> tokens_;
  std::vector<Set> sets_;
  std::size_t slashes_ = 0;
  bool directories_only_ = false;
  bool anchored_ = false;
  bool wild_ = false;
  bool malformed_ = false;  // it has a set without an end or with an unknown class, and matches nothing
  bool has_star_star_ = false;
  bool begins_star_star_ = false;  // "**/x" matches "x", too
  bool ends_star_star_star_ = false;
};

}  // namespace rdcp::tree
