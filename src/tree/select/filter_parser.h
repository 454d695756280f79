// Parses rsync's filter grammar into rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "tree/select/filter.h"

namespace rdcp::tree {

// Parses --exclude, --include, --filter and their files, in the order in which they are given:
//
// - --filter and merged files: "- PATTERN", "+ PATTERN", "H", "S", "P", "R", ". FILE", "!", or in words:
//   exclude, include, hide, show, protect, risk, merge, clear. Modifiers follow the letter or a comma: for +
//   and -, "!" (what does not match) and "s", "r" (at the source, at the target); for a merged file, "-" or
//   "+" (its lines are patterns) and "s", "r" (for all its rules). "_" may replace the blank before the
//   pattern.
// - --exclude, --include and their files: a pattern. "- " and "+ " before it override the option, and "!"
//   alone drops all earlier rules.
//
// Lines end with LF or CR. Empty lines, and those that begin with ";" or "#", are comments.
class FilterParser {
 public:
  // Returns the content of a file of rules. It is also called for files that files name.
  using ReadFile = std::function<io::Result<std::string>(const std::string& path)>;
  enum class Word : std::uint8_t { exclude, include, filter, exclude_from, include_from };

  // ended_by_nul: the lines of files end with NUL (--from0).
  FilterParser(ReadFile read_file, bool ended_by_nul)
      : read_file_(std::move(read_file)), by_nul_(ended_by_nul) {}

  // Adds an option with its value. Errors: those of read_file, or usage if it is not a rule, or not one that
  // is supported here. They name the rule, or the file and its line, but never what a file contains.
  io::Result<void> add(Word option, const std::string& word);
  std::vector<FilterRule> take() { return std::move(rules_); }

  // Limits how deep files may name each other, and how many there may be in all.
  static constexpr unsigned kDepthMax = 16;
  static constexpr unsigned kFilesMax = 10'000;

 private:
  enum class Grammar : std::uint8_t { full, prefixes, pattern };
  // Settings that all rules of a file or option share.
  struct Container {
    Grammar grammar = Grammar::full;
    bool include = false;
    FilterSides sides = FilterSides::unstated;
  };
  struct Origin {
    std::string file;  // empty for the command line
    std::size_t line = 0;
    std::string_view option;
    std::string_view text;
  };
  // A rule before its pattern, or an instruction that is not a rule.
  struct Head {
    char letter = '-';  // + - H S P R . !
    std::string_view modifiers;
    std::string_view rest;
  };

  io::Result<void> add_file(const std::string& path, const Container& container);
  io::Result<void> add_rule(std::string_view text, const Container& container, const Origin& origin);
  io::Result<void> add_pattern(std::string_view pattern, FilterRule rule, const Origin& origin);
  io::Result<void> add_full(std::string_view text, const Container& container, const Origin& origin);
  io::Result<void> add_merged(const Head& head, const Container& container, const Origin& origin);
  static bool split_head(std::string_view text, Head& head);
  static io::Error refuse(const Origin& origin, std::string_view why);

  ReadFile read_file_;
  bool by_nul_;
  unsigned depth_ = 0;
  unsigned files_ = 0;
  std::vector<FilterRule> rules_;
};

// Reads the lines of a file of rules or names as FilterParser does, without comments.
struct Line {
  std::size_t number = 0;
  std::string_view text;
};
class LineReader {
 public:
  LineReader(std::string_view text, bool ended_by_nul) : rest_(text), by_nul_(ended_by_nul) {}
  bool next(Line& line);

 private:
  std::string_view rest_;
  bool by_nul_;
  std::size_t number_ = 0;
};

}  // namespace rdcp::tree
