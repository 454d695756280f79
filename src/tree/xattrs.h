// Extended attributes and ACLs of an inode, as a part of its metadata (metadata.h has the reading half).
#pragma once

#include <functional>
#include <string_view>

#include "tree/inode.h"
#include "tree/metadata.h"

namespace rdcp::tree {

// Gives the inode the xattrs of entry and takes away what it has of xattrs and ACLs beyond entry's, in the
// namespaces that we copy. `born_plain`: it surely has none. What can't be kept goes into losses.
// let_owner_write: called where writing is refused; true: it is to be tried once more.
void apply_xattrs(const Inode& inode, const Entry& entry, Losses& losses, std::string_view subject,
                  bool born_plain, const std::function<bool()>& let_owner_write);

// Gives it the ACLs of entry. False when the access ACL can't be kept: the group bits of entry.mode, which
// stand for the ACL's mask, are then more than the group should have.
bool apply_acls(const Inode& inode, const Entry& entry, const MetadataPolicy& policy, NameTable& names,
                Losses& losses, std::string_view subject);

}  // namespace rdcp::tree
