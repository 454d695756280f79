#include "tree/session/target_guards.h"

#include <utility>

namespace rdcp::tree {

io::Result<void> TargetGuards::admit(const std::vector<std::string>& landings, bool all) {
  io::Result<AdmittedNames> names = all ? AdmittedNames::all() : AdmittedNames::create(landings);
  if (!names) return std::move(names).error();
  admitted = std::move(*names);
  return {};
}

io::Result<void> TargetGuards::begin_removals(int root, const Selection& selection, const std::string& own,
                                              const Begin& begin) {
  auto filter = Filter::create(selection.rules, selection.delete_excluded);
  if (!filter) return std::move(filter).error();
  removals.begin(root, std::move(*filter), own, begin.source_device, begin.source_inode);
  return {};
}

}  // namespace rdcp::tree
