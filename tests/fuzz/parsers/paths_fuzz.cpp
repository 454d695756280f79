// Whatever list of paths a user or a coordinator gives (--files-from): each leads somewhere beneath the root,
// a walk meets each exactly once, and a list of cleaned paths is its own cleaned form. The input is several
// messages: lengths of two bytes, and that many bytes each.
#include <algorithm>

#include "tests/fuzz/targets.h"
#include "tree/meta/entry_path.h"
#include "tree/select/named_paths.h"

namespace rdcp::fuzz {
namespace {

using tree::NamedPaths;

// Returns how many paths were met.
std::size_t walk_names(const NamedPaths& names, NamedPaths::Range range, std::size_t prefix) {
  std::size_t met = 0;
  std::string_view last;
  while (!range.empty()) {
    const std::size_t before = range.first;
    const NamedPaths::Group group = names.take_group(range, prefix);
    require(range.first > before && !group.name.empty() && tree::is_safe_path(group.name));
    require(group.name.find('/') == group.name.npos && (last.empty() || last < group.name));
    require(names.has({before, range.first}, prefix, group.name));
    require(group.itself || !group.beneath.empty());
    last = group.name;
    met += (group.beneath.first - before) + walk_names(names, group.beneath, prefix + group.name.size() + 1);
  }
  return met;
}

// The same list from its cleaned paths, which must not change any more.
void clean_again(const NamedPaths& names) {
  tree::PathsNamed list;
  for (std::size_t i = 0; i < names.all().last; ++i) {
    require(tree::is_safe_path(names.path(i)));
    list.paths += std::string(names.path(i)) + '\0';
  }
  NamedPaths again;
  require(again.add(list).ok());
  again.sort();
  // "d" and "d/" were two paths, and are one now.
  std::size_t at = 0;
  for (std::size_t i = 0; i < again.all().last; ++i, ++at) {
    while (at < names.all().last && names.path(at) != again.path(i)) ++at;
    require(at < names.all().last);
  }
}

}  // namespace

void fuzz_paths(Bytes input) {
  Choices choices(input);
  NamedPaths names;
  while (choices.more()) {
    const std::string part(choices.long_piece());
    const bool taken = names.add({.paths = part}).ok();
    require(taken == (part.empty() || part.back() == '\0'));
  }
  names.sort();
  NamedPaths::Range range = names.all();
  const bool content = names.take_content(range);
  require(walk_names(names, range, 0) + (content ? 1 : 0) == names.all().last);
  clean_again(names);
}

}  // namespace rdcp::fuzz
