// Whatever paths another host names for a pattern in a SRC: one that is taken lies where the pattern looks,
// at its depth, and has no "." or ".." that the pattern has not.
#include <algorithm>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tree/select/path_pattern.h"

namespace rdcp::fuzz {
namespace {

std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (!name.empty()) names.push_back(name);
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  return names;
}

}  // namespace

void fuzz_patterns(Bytes input) {
  Choices choices(input);
  const std::string_view pattern = choices.piece();
  const std::string_view path = choices.rest();
  require(tree::stands_for(pattern, pattern));
  if (!tree::stands_for(pattern, path) || path == pattern) return;
  require(path.find('\0') == path.npos && !path.empty());
  require(path.starts_with('/') == pattern.starts_with('/'));
  const auto asked = names_of(pattern);
  const auto found = names_of(path);
  require(asked.size() == found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool same = asked[i] == found[i];
    require(same || (found[i] != "." && found[i] != ".."));
    require(same || tree::is_pattern(asked[i]) || asked[i].find('\\') != asked[i].npos);
    const bool has_dot = asked[i].starts_with('.') || asked[i].starts_with("\\.");
    require(!found[i].starts_with('.') || has_dot);
  }
}

}  // namespace rdcp::fuzz
