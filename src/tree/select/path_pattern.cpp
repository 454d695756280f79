#include "tree/select/path_pattern.h"

#include <fnmatch.h>

#include <algorithm>

namespace rdcp::tree {

namespace {

// Takes the next name off a path, and the slashes around it.
std::string take_name(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view name = path.substr(0, path.find('/'));
  path.remove_prefix(name.size());
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return std::string(name);
}

bool name_stands_for(const std::string& pattern, const std::string& name) {
  if (name == pattern) return true;
  if (name.empty() || name == "." || name == "..") return false;
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

}  // namespace

bool is_pattern(std::string_view path) {
  return path.find_first_of("*?[") != path.npos;
}

bool stands_for(std::string_view pattern, std::string_view path) {
  if (path == pattern) return true;
  if (path.empty() || path.find('\0') != path.npos || pattern.find('\0') != pattern.npos) return false;
  if (path.starts_with('/') != pattern.starts_with('/') || path.ends_with('/') != pattern.ends_with('/')) {
    return false;
  }
  while (!pattern.empty() && !path.empty()) {
    const std::string one = take_name(pattern);
    if (!name_stands_for(one, take_name(path))) return false;
  }
  return pattern.empty() && path.empty();
}

}  // namespace rdcp::tree
