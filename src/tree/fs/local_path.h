// Takes apart paths as the user gave them.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace rdcp::tree {

// Where a name is looked up, and the name.
struct LocalPath {
  std::string directory;  // can be opened: "." for a path without a slash
  std::string name;       // empty for "/"
};

// Slashes at the end do not count: "a/b/" is "b" in "a".
inline LocalPath split_local_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {std::string(slash == 0 ? "/" : path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

// Does the same with all symlinks resolved, if that is possible (realpath(3)).
inline LocalPath split_real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return split_local_path(real != nullptr ? real.get() : path);
}

}  // namespace rdcp::tree
