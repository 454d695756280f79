// The leave to remove a name, as a type; every removal beneath a target's root goes through this file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rdcp::tree {

// Says that one name may be removed. It comes from the removal gate, which knows the user's rules, or is for
// a name of rdcp's own.
class RemovalPermit {
 public:
  // Returns one if the first component of the path is the name of a file or directory that only rdcp makes
  // (own_names.h). What is beneath such a directory belongs to it.
  static std::optional<RemovalPermit> for_own(std::string_view path);

 private:
  friend class RemovalGate;
  RemovalPermit() = default;
};

// unlinkat(2). Its return value, errno and flags are those of the system call. A style test sees to it that
// nothing else in the tree layer makes such calls.
int remove_name(RemovalPermit permit, int directory, const std::string& name, int flags = 0);
// Removes a file or, with AT_REMOVEDIR, a directory of rdcp's own. If `name` is not such a name, this returns
// -1 with EPERM and removes nothing.
int remove_own(int directory, const std::string& name, int flags = 0);
// renameat(2): gives a file of rdcp's own its final name, in place of what has that. The error is EISDIR if a
// directory has it. As above, `own` must be a name of rdcp's own.
int rename_own(int directory, const std::string& own, int final_directory, const std::string& final_name);

}  // namespace rdcp::tree
