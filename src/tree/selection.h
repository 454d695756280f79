// What the user chose of the sources: filter rules and bounds, as they travel in a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

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
