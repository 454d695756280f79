// Sets extended attributes and ACLs as a part of an inode's metadata (metadata.h reads them).
#pragma once

#include <functional>
#include <string_view>

#include "tree/meta/inode.h"
#include "tree/meta/metadata.h"

namespace rdcp::tree {

// Gives the inode the xattrs of entry, and removes those xattrs and ACLs that entry lacks, in the namespaces
// that we copy. `born_plain` means that the inode surely has none. What cannot be kept goes into losses.
// let_owner_write is called if a write is refused; it returns true if the write should be tried again.
void apply_xattrs(const Inode& inode, const Entry& entry, Losses& losses, std::string_view subject,
                  bool born_plain, const std::function<bool()>& let_owner_write);

// Gives the inode the ACLs of entry. Returns false if the access ACL cannot be kept: the group bits of
// entry.mode, which stand for the ACL's mask, then grant more than the group should have.
bool apply_acls(const Inode& inode, const Entry& entry, const MetadataPolicy& policy, NameTable& names,
                Losses& losses, std::string_view subject);

}  // namespace rdcp::tree
