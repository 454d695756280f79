#include "tree/select/filter.h"

#include <utility>

namespace rdcp::tree {

using io::Result;

namespace {

io::Error refuse(std::string_view why) {
  return io::plain_error(io::ErrorKind::protocol, "filter rules", "", why);
}

}  // namespace

Result<Filter> Filter::create(const std::vector<FilterRule>& rules, bool delete_excluded) {
  if (rules.size() > kFilterRulesMax) return refuse("too many");
  Filter filter;
  std::size_t bytes = 0;
  for (const FilterRule& rule : rules) {
    auto pattern = Pattern::create(rule.pattern);
    if (!pattern) return pattern.error();
    bytes += rule.pattern.size();
    if (bytes > kFilterBytesMax) return refuse("too long");
    if (rule.sides > FilterSides::both) return refuse("a side that does not exist");
    const bool at_target =
        rule.sides == FilterSides::unstated ? !delete_excluded : rule.sides != FilterSides::source;
    filter.rules_.push_back({.pattern = std::move(*pattern),
                             .include = rule.include,
                             .negated = rule.negated,
                             .at_source = rule.sides != FilterSides::target,
                             .at_target = at_target});
  }
  return filter;
}

bool Filter::excludes(bool Compiled::*side, std::string_view path, bool is_directory) const {
  if (path.empty()) return false;  // the root itself
  for (const Compiled& rule : rules_) {
    if (rule.*side && rule.pattern.matches(path, is_directory) != rule.negated) return !rule.include;
  }
  return false;
}

}  // namespace rdcp::tree
