#include "tree/select/filter_parser.h"

#include <algorithm>
#include <array>

namespace rdcp::tree {

using io::ErrorKind;
using io::Result;

namespace {

struct NamedRule {
  std::string_view word;
  char letter;
};
constexpr std::array<NamedRule, 9> kNamedRules{{{"clear", '!'},
                                                {"dir-merge", ':'},
                                                {"exclude", '-'},
                                                {"hide", 'H'},
                                                {"include", '+'},
                                                {"merge", '.'},
                                                {"protect", 'P'},
                                                {"risk", 'R'},
                                                {"show", 'S'}}};

// Takes "s" or "r"; with both, the rule counts on both sides. Returns false for any other modifier.
bool add_side(char modifier, FilterSides& sides) {
  if (modifier != 's' && modifier != 'r') return false;
  const FilterSides side = modifier == 's' ? FilterSides::source : FilterSides::target;
  sides = sides == FilterSides::unstated || sides == side ? side : FilterSides::both;
  return true;
}

}  // namespace

bool LineReader::next(Line& line) {
  while (!rest_.empty()) {
    const std::size_t end = by_nul_ ? rest_.find('\0') : rest_.find_first_of("\r\n");
    line = {++number_, rest_.substr(0, end)};
    // CR LF ends one line, so that line numbers are those of an editor.
    const bool two = end != rest_.npos && rest_.substr(end).starts_with("\r\n");
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + (two ? 2 : 1));
    if (!line.text.empty() && line.text.front() != '#' && line.text.front() != ';') return true;
  }
  return false;
}

io::Error FilterParser::refuse(const Origin& origin, std::string_view why) {
  if (origin.file.empty()) return io::plain_error(ErrorKind::usage, origin.option, origin.text, why);
  return io::plain_error(ErrorKind::usage, "line " + std::to_string(origin.line) + " of", origin.file, why);
}

Result<void> FilterParser::add(Word option, const std::string& word) {
  switch (option) {
    case Word::exclude:
      return add_rule(word, {.grammar = Grammar::prefixes}, {{}, 0, "--exclude", word});
    case Word::include:
      return add_rule(word, {.grammar = Grammar::prefixes, .include = true}, {{}, 0, "--include", word});
    case Word::filter:
      return add_rule(word, {}, {{}, 0, "--filter", word});
    case Word::exclude_from:
      return add_file(word, {.grammar = Grammar::prefixes});
    case Word::include_from:
      return add_file(word, {.grammar = Grammar::prefixes, .include = true});
  }
  return {};
}

Result<void> FilterParser::add_file(const std::string& path, const Container& container) {
  auto text = read_file_(path);
  if (!text) return text.error();
  Origin origin{path, 0, {}, {}};
  Line line;
  ++depth_;
  ++files_;
  for (LineReader lines(*text, by_nul_); lines.next(line);) {
    origin.line = line.number;
    if (line.text.find('\0') != line.text.npos) return refuse(origin, "has a NUL byte (see --from0)");
    if (auto added = add_rule(line.text, container, origin); !added) return added;
  }
  --depth_;
  return {};
}

Result<void> FilterParser::add_rule(std::string_view text, const Container& container, const Origin& origin) {
  FilterRule rule{.pattern = {}, .include = container.include, .negated = false, .sides = container.sides};
  if (container.grammar == Grammar::full) return add_full(text, container, origin);
  if (container.grammar == Grammar::prefixes) {
    if (text == "!") {
      rules_.clear();
      return {};
    }
    if (text.starts_with("- ") || text.starts_with("+ ")) {
      rule.include = text.front() == '+';
      text.remove_prefix(2);
    }
  }
  return add_pattern(text, std::move(rule), origin);
}

Result<void> FilterParser::add_pattern(std::string_view pattern, FilterRule rule, const Origin& origin) {
  if (pattern.empty()) return refuse(origin, "the rule has no pattern");
  if (pattern.size() > Pattern::kBytesMax) return refuse(origin, "a pattern has 4096 bytes at most");
  if (rules_.size() == kFilterRulesMax) return refuse(origin, "there are too many rules");
  rule.pattern = pattern;
  rules_.push_back(std::move(rule));
  return {};
}

// "exclude,! x", "-! x", "-!_x" and "-,! x" all mean the same.
bool FilterParser::split_head(std::string_view text, Head& head) {
  const auto ends_word = [](char c) { return c == ' ' || c == '_' || c == ','; };
  if (text.empty()) return false;
  std::size_t length = 1;
  head.letter = text.front();
  for (const NamedRule& named : kNamedRules) {
    const std::size_t size = named.word.size();
    if (text.starts_with(named.word) && (text.size() == size || ends_word(text[size]))) {
      head.letter = named.letter;
      length = size;
    }
  }
  if (std::string_view("+-HSPR.:!").find(head.letter) == std::string_view::npos) return false;
  text.remove_prefix(length);
  if (text.starts_with(',')) text.remove_prefix(1);
  const std::size_t end = head.letter == '!' ? 0 : std::min(text.find_first_of(" _"), text.size());
  head.modifiers = text.substr(0, end);
  head.rest = text.substr(std::min(end + (head.letter == '!' ? 0 : 1), text.size()));
  return true;
}

Result<void> FilterParser::add_full(std::string_view text, const Container& container, const Origin& origin) {
  Head head;
  if (!split_head(text, head)) return refuse(origin, "is not a filter rule");
  switch (head.letter) {
    case '!':
      if (!head.rest.empty()) return refuse(origin, "nothing may follow '!' or 'clear'");
      rules_.clear();
      return {};
    case ':':
      return refuse(origin, "files of rules in directories (dir-merge) are not supported");
    case '.':
      return add_merged(head, container, origin);
    default:
      break;
  }
  const char letter = head.letter;
  FilterRule rule;
  rule.include = letter == '+' || letter == 'S' || letter == 'R';
  const bool names_side = letter != '+' && letter != '-';
  if (names_side) rule.sides = letter == 'H' || letter == 'S' ? FilterSides::source : FilterSides::target;
  for (const char modifier : head.modifiers) {
    if (modifier == '!') {
      rule.negated = true;
    } else if (names_side || !add_side(modifier, rule.sides)) {
      return refuse(origin, "the rule has a modifier that is not supported");
    }
  }
  if (container.sides != FilterSides::unstated) {
    if (rule.sides != FilterSides::unstated) return refuse(origin, "a side is named here and for the file");
    rule.sides = container.sides;
  }
  return add_pattern(head.rest, std::move(rule), origin);
}

Result<void> FilterParser::add_merged(const Head& head, const Container& container, const Origin& origin) {
  Container merged{.grammar = Grammar::full, .include = false, .sides = FilterSides::unstated};
  for (const char modifier : head.modifiers) {
    if (modifier == '+' || modifier == '-') {
      if (merged.grammar == Grammar::pattern) return refuse(origin, "the rule has both '-' and '+'");
      merged.grammar = Grammar::pattern;
      merged.include = modifier == '+';
    } else if (!add_side(modifier, merged.sides)) {
      return refuse(origin, "the rule has a modifier that is not supported");
    }
  }
  if (container.sides != FilterSides::unstated) {
    if (merged.sides != FilterSides::unstated) return refuse(origin, "a side is named here and for the file");
    merged.sides = container.sides;
  }
  if (head.rest.empty()) return refuse(origin, "the rule names no file");
  if (files_ == kFilesMax) return refuse(origin, "there are too many files");
  if (depth_ == kDepthMax)
    return refuse(origin, "merged files name each other in too many levels (or in a circle)");
  return add_file(std::string(head.rest), merged);
}

}  // namespace rdcp::tree
