// Sets extended attributes and ACLs as a part of an inode's metadata (metadata.h reads them).
#pragma once

#include <functional>
#include <string_view>

#include "tree/meta/inode.h"
#include "tree/meta/metadata.h"

namespace rdcp::tree {

// Removes the xattrs and ACLs that the inode has beyond those of entry, in the namespaces that we copy. What
// cannot be removed goes into losses. let_owner_write is called where writing is refused; if it returns true
// the removal is tried once more.
void remove_other_xattrs(const Inode& inode, const Entry& entry, Losses& losses, std::string_view subject,
                         const std::function<bool()>& let_owner_write);
// Gives the inode the xattrs of entry, in the same way.
void set_xattrs(const Inode& inode, const Entry& entry, Losses& losses, std::string_view subject,
                const std::function<bool()>& let_owner_write);

// Gives the inode the ACLs of entry. Returns false if the access ACL cannot be kept: the group bits of
// entry.mode, which stand for the ACL's mask, then grant more than the group should have.
bool apply_acls(const Inode& inode, const Entry& entry, const MetadataContext& context,
                std::string_view subject);

}  // namespace rdcp::tree
