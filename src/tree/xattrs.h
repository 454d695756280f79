// Extended attributes and ACLs of an inode, as a part of its metadata (metadata.h has the reading half).
#pragma once

#include <string_view>

#include "tree/inode.h"
#include "tree/metadata.h"

namespace rdcp::tree {

// Gives the inode the xattrs and ACLs of entry and takes away what it has beyond them, in the namespaces that
// we copy. `born_plain`: it surely has none. What can't be kept goes into losses. False when that is the
// access ACL: the group bits of entry.mode, which stand for the ACL's mask, are then more than the group
// should have.
bool apply_xattrs(const Inode& inode, const Entry& entry, const MetadataPolicy& policy, NameTable& names,
                  Losses& losses, std::string_view subject, bool born_plain);

}  // namespace rdcp::tree
