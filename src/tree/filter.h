// Which entries of a tree take part in a copy: rsync's filter rules. Nothing here touches a file or a socket;
// filter_parser.h makes rules of what the user wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "io/result.h"
#include "tree/filter_pattern.h"

namespace rdcp::tree {

// On which sides a rule counts. unstated: on both, but with --delete-excluded at the source only.
enum class FilterSides : std::uint8_t { unstated, source, target, both };
constexpr FilterSides last_of(FilterSides) {
  return FilterSides::both;
}

struct FilterRule {
  std::string pattern;   // as the user wrote it; see Pattern
  bool include = false;  // what matches takes part; else it does not
  bool negated = false;  // counts for what does not match
  FilterSides sides = FilterSides::unstated;
  auto fields() { return std::tie(pattern, include, negated, sides); }
  bool operator==(const FilterRule&) const = default;
};

// No copy has more; what a peer sends is held to it as well. Together the patterns fit into a message.
inline constexpr std::size_t kFilterRulesMax = 100'000;
inline constexpr std::size_t kFilterBytesMax = 2 << 20;

// Immutable after create(), so it may be asked by any thread; a question allocates nothing.
//
// Paths are relative to the root of the copy, as Entry::path is: for SRC/ (contents) that is what lies in
// SRC, for SRC its own name comes first. Of the rules that count on a side, the first that matches decides;
// what none matches takes part. Who walks a tree asks for a directory before what is in it, and does not
// enter one that is hidden (or protected): the patterns alone do not say that its content is hidden, too.
class Filter {
 public:
  Filter() = default;  // without rules: hides nothing, protects nothing
  // Errors (protocol): too many rules, a pattern that is empty or too long, sides that do not exist.
  static io::Result<Filter> create(const std::vector<FilterRule>& rules, bool delete_excluded = false);

  // Source: it is not copied, and a target is told nothing of it.
  bool hides(std::string_view path, bool is_directory) const {
    return excludes(&Compiled::at_source, path, is_directory);
  }
  // Target: --delete must leave it alone, and with a directory all that is in it.
  bool protects(std::string_view path, bool is_directory) const {
    return excludes(&Compiled::at_target, path, is_directory);
  }
  bool empty() const { return rules_.empty(); }

 private:
  struct Compiled {
    Pattern pattern;
    bool include;
    bool negated;
    bool at_source;
    bool at_target;
  };
  bool excludes(bool Compiled::*side, std::string_view path, bool is_directory) const;

  std::vector<Compiled> rules_;
};

// What the user chose of the sources.
struct Selection {
  std::vector<FilterRule> rules;
  bool delete_excluded = false;
  bool one_file_system = false;
  std::uint64_t size_min = 0;  // of regular files that are sent; others are hidden from nobody
  std::uint64_t size_max = UINT64_MAX;
  bool named_only = false;  // the paths of NamedPaths messages, and nothing else
  auto fields() { return std::tie(rules, delete_excluded, one_file_system, size_min, size_max, named_only); }

  // --max-size and --min-size: a file beyond them is not sent, and --delete does not take it for missing.
  bool has_bounds() const { return size_min > 0 || size_max < UINT64_MAX; }
  bool sends_size(std::uint64_t bytes) const { return bytes >= size_min && bytes <= size_max; }
};

}  // namespace rdcp::tree
