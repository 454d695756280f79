// Converts ACL lines to and from those of libarchive's entries, without loss.
#pragma once

#include <archive_entry.h>

#include <optional>
#include <vector>

#include "tree/meta/entry.h"

namespace rdcp::tree {

// `type` is ARCHIVE_ENTRY_ACL_TYPE_ACCESS or _DEFAULT. An access ACL also sets the entry's permission bits.
void put_acl(archive_entry* entry, int type, const std::vector<AclLine>& lines);
// Returns lines in the order of AclLine::Tag, or nothing if one of them cannot come from put_acl().
std::optional<std::vector<AclLine>> take_acl(archive_entry* entry, int type);

// Upper bound of the bytes that a line takes in the archive.
std::size_t acl_line_bound(const AclLine& line);

}  // namespace rdcp::tree
