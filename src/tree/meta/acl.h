// Converts POSIX ACLs to and from the kernel's format, which is that of an extended attribute.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/meta/entry.h"
#include "tree/meta/names.h"

namespace rdcp::tree {

inline constexpr char kAccessAclXattr[] = "system.posix_acl_access";
inline constexpr char kDefaultAclXattr[] = "system.posix_acl_default";

// Parses a raw ACL (linux/posix_acl_xattr.h). The lines have no names yet. Returns nothing if the bytes are
// not an ACL of the known version.
std::optional<std::vector<AclLine>> parse_acl(std::string_view raw);
// Formats lines as a raw ACL, sorted as the kernel requires it (posix_acl_valid() refuses any other order).
std::string format_acl(std::vector<AclLine> lines);

// True if the lines say no more than the permission bits do: there is no user, group or mask line.
bool is_minimal(const std::vector<AclLine>& lines);

// The source fills in the names of user and group lines. The target replaces their ids by those that the
// names have on its host; a line whose name is empty or unknown there keeps its id.
void look_up_names(std::vector<AclLine>& lines, NameTable& names);
void map_ids(std::vector<AclLine>& lines, NameTable& names);

}  // namespace rdcp::tree
