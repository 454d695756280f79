#include "tree/meta/entry_path.h"

#include <algorithm>

namespace rdcp::tree {

bool is_safe_path(std::string_view path) {
  if (path.empty()) return true;
  if (path.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view component = path.substr(begin, end - begin);
    if (component.empty() || component == "." || component == "..") return false;
    begin = end + 1;
  }
  return true;
}

SplitPath split_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

EntryPath EntryPath::beneath(EntryPathView directory, std::string_view name) {
  std::string path(directory.text());
  if (!path.empty()) path += '/';
  return EntryPath(path.append(name));
}

}  // namespace rdcp::tree
