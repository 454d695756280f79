// POSIX ACLs in the form in which the kernel takes and gives them, as an extended attribute.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/entry.h"
#include "tree/names.h"

namespace rdcp::tree {

inline constexpr char kAccessAclXattr[] = "system.posix_acl_access";
inline constexpr char kDefaultAclXattr[] = "system.posix_acl_default";

// The lines of a raw ACL (linux/posix_acl_xattr.h), without names. None: not an ACL of the known version.
std::optional<std::vector<AclLine>> parse_acl(std::string_view raw);
// The raw ACL of lines, in the order that the kernel asks for (posix_acl_valid() takes no other).
std::string format_acl(std::vector<AclLine> lines);

// True when the lines say no more than the permission bits do: no user, group or mask line.
bool is_minimal(const std::vector<AclLine>& lines);

// At the source: fills in the names of user and group lines. At the target: replaces their ids by those that
// the names have here; a line whose name is empty or unknown here keeps its number.
void look_up_names(std::vector<AclLine>& lines, NameTable& names);
void map_ids(std::vector<AclLine>& lines, NameTable& names);

}  // namespace rdcp::tree
