// rsync's filter grammar: what the user wrote, to rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "tree/filter.h"

namespace rdcp::tree {

// Understands what --exclude, --include, --filter and their files hold, in the order in which it is given:
//
// - --filter and merged files: "- PATTERN", "+ PATTERN", "H", "S", "P", "R", ". FILE", "!", or in words:
//   exclude, include, hide, show, protect, risk, merge, clear. Modifiers, behind the letter or a comma: "!"
//   (what does not match) and "s", "r" (at the source, at the target) for + and -; for a merged file "-" or
//   "+" (its lines are patterns) and "s", "r" (for all its rules). "_" may stand for the blank before the
//   pattern.
// - --exclude, --include and their files: a pattern; "- " and "+ " before it turn it round, "!" alone forgets
//   all rules so far.
//
// Lines end with LF or CR. Empty ones, and those that begin with ";" or "#", are comments.
class FilterParser {
 public:
  // The content of a file of rules. May be asked for files that are named in files.
  using ReadFile = std::function<io::Result<std::string>(const std::string& path)>;
  enum class Word : std::uint8_t { exclude, include, filter, exclude_from, include_from };

  // line_end: 0 for files whose lines end with NUL (--from0).
  FilterParser(ReadFile read_file, bool ended_by_nul)
      : read_file_(std::move(read_file)), by_nul_(ended_by_nul) {}

  // An option and its value. Errors: of read_file; usage: no rule, or one that is not supported here. They
  // name the rule, or the file and its line, never what a file holds.
  io::Result<void> add(Word option, const std::string& word);
  std::vector<FilterRule> take() { return std::move(rules_); }

  // Files in files in files, and all of them.
  static constexpr unsigned kDepthMax = 16;
  static constexpr unsigned kFilesMax = 10'000;

 private:
  enum class Grammar : std::uint8_t { full, prefixes, pattern };
  // What the rules of a file or option have in common.
  struct Container {
    Grammar grammar = Grammar::full;
    bool include = false;
    FilterSides sides = FilterSides::unstated;
  };
  struct Origin {
    std::string file;  // empty: the command line
    std::size_t line = 0;
    std::string_view option;
    std::string_view text;
  };
  // A rule before its pattern, or what it is besides a rule.
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

// The lines of a file of rules or names, by FilterParser's rules, without comments. nul_within: one holds a
// NUL byte, which no pattern and no name can.
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
