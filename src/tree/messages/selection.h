// Which part of the sources the user chose: filter rules and bounds, as they travel in a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace rdcp::tree {

// On which sides a rule counts. An `unstated` rule counts on both, but with --delete-excluded only at the
// source.
enum class FilterSides : std::uint8_t { unstated, source, target, both };
constexpr FilterSides last_of(FilterSides) {
  return FilterSides::both;
}

struct FilterRule {
  std::string pattern;   // as the user wrote it (see Pattern)
  bool include = false;  // true: what matches takes part; false: it does not
  bool negated = false;  // the rule is for what does not match
  FilterSides sides = FilterSides::unstated;
  auto fields() { return std::tie(pattern, include, negated, sides); }
  bool operator==(const FilterRule&) const = default;
};

// A copy has at most so many rules and bytes of patterns, and a peer is held to this, too. All patterns
// together fit into one message.
inline constexpr std::size_t kFilterRulesMax = 100'000;
inline constexpr std::size_t kFilterBytesMax = 2 << 20;

// Which part of the sources the user chose.
struct Selection {
  std::vector<FilterRule> rules;
  bool delete_excluded = false;
  bool one_file_system = false;
  std::uint64_t size_min = 0;  // regular files of other sizes are not sent, but hidden from nobody
  std::uint64_t size_max = UINT64_MAX;
  bool named_only = false;  // only the paths of PathsNamed messages
  auto fields() { return std::tie(rules, delete_excluded, one_file_system, size_min, size_max, named_only); }

  // --max-size and --min-size: a file outside these bounds is not sent, but --delete does not take it for
  // missing.
  bool has_bounds() const { return size_min > 0 || size_max < UINT64_MAX; }
  bool sends_size(std::uint64_t bytes) const { return bytes >= size_min && bytes <= size_max; }
};

}  // namespace rdcp::tree
