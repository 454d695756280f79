#include "tree/fs/removal_permit.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tree/fs/own_names.h"

namespace rdcp::tree {

std::optional<RemovalPermit> RemovalPermit::for_own(std::string_view path) {
  const bool is_own = own_name(path.substr(0, path.find('/'))) != OwnName::none;
  return is_own ? std::optional(RemovalPermit()) : std::nullopt;
}

int remove_name(RemovalPermit /*permit*/, int directory, const std::string& name, int flags) {
  return ::unlinkat(directory, name.c_str(), flags);
}

int remove_own(int directory, const std::string& name, int flags) {
  if (const auto permit = RemovalPermit::for_own(name)) return remove_name(*permit, directory, name, flags);
  errno = EPERM;
  return -1;
}

int rename_own(int directory, const std::string& own, int final_directory, const std::string& final_name) {
  if (RemovalPermit::for_own(own)) {
    return ::renameat(directory, own.c_str(), final_directory, final_name.c_str());
  }
  errno = EPERM;
  return -1;
}

}  // namespace rdcp::tree
