// ACL lines to and from libarchive's entries, exactly.
#pragma once

#include <archive_entry.h>

#include <optional>
#include <vector>

#include "tree/entry.h"

namespace rdcp::tree {

// `type`: ARCHIVE_ENTRY_ACL_TYPE_ACCESS or _DEFAULT. An access ACL also sets the entry's permission bits.
void put_acl(archive_entry* entry, int type, const std::vector<AclLine>& lines);
// In the order of AclLine::Tag. None: lines that no ACL of ours has.
std::optional<std::vector<AclLine>> take_acl(archive_entry* entry, int type);

// Upper bound of what a line takes in the archive.
std::size_t acl_line_bound(const AclLine& line);

}  // namespace rdcp::tree
