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

// rsync(1), "PATTERN MATCHING RULES". Bytes, not characters; classes such as [:alpha:] know ASCII.
//
// - "*" any bytes but a slash, "**" any bytes, "?" one byte but a slash, "[a-z]" one byte of a set, "[!...]"
//   or "[^...]" one that is not in it; "\" takes a special meaning away, where the pattern has any.
// - A slash at the end: directories only. "dir/***": the directory and all in it.
// - A slash at the begin: the whole path. Without any slash (and without "**"): its last name. Else the end
//   of the path, from the begin of one of its names on.
//
// A match takes time of at most the product of both lengths for each name in the path, and no memory: a star
// is only ever lengthened if no later one can be, and one that has met a slash never again.
class Pattern {
 public:
  static constexpr std::size_t kBytesMax = 4096;

  // Error (protocol): empty, or longer than kBytesMax.
  static io::Result<Pattern> create(std::string_view text);

  // path: names separated by single slashes, none at its ends.
  bool matches(std::string_view path, bool is_directory) const;

 private:
  struct Token {
    enum class Kind : std::uint8_t { byte, any, set, star, star_star };
    Kind kind;
    std::uint8_t byte = 0;  // byte: itself
    std::uint32_t set = 0;  // set: index into sets_
  };
  using Set = std::bitset<256>;
  class Subject;

  bool tokenize(std::string_view text);
  bool fits(const Token& token, char byte) const;
  bool matches_from(const Subject& subject, std::size_t at) const;
  bool matches_anywhere(const Subject& subject) const;
  bool matches_literally(std::string_view path) const;
  // The end of path that is as many names long as the pattern; none: it has fewer.
  std::optional<std::string_view> tail_of(std::string_view path) const;

  std::string literal_;  // without wildcards: what to compare with
  std::vector<Token> tokens_;
  std::vector<Set> sets_;
  std::size_t slashes_ = 0;
  bool directories_only_ = false;
  bool anchored_ = false;
  bool wild_ = false;
  bool malformed_ = false;  // a set without an end, or with a class that does not exist: matches nothing
  bool has_star_star_ = false;
  bool begins_star_star_ = false;  // "**/x" matches "x", too
  bool ends_star_star_star_ = false;
};

}  // namespace rdcp::tree
