// All code that reads entries at a source needs these.
#pragma once

#include "tree/meta/alteration.h"
#include "tree/meta/metadata.h"
#include "tree/meta/names.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// names and reporter are thread-safe, and outlive every user of the context.
struct ReadContext {
  MetadataPolicy policy;  // which metadata are read
  NameTable& names;
  Reporter& reporter;
  Alteration alteration = {};  // how they are changed

  // Fills an entry with the metadata that the target gets; see fill_from_stat().
  void fill(const struct stat& status, Entry& entry) const {
    fill_from_stat(status, policy, names, entry);
    alteration.alter(entry);
  }
  // The same for xattrs and ACLs, after fill(); see tree::read_xattrs().
  io::Result<void> read_xattrs(int fd, bool is_path_fd, Entry& entry) const {
    auto read = tree::read_xattrs(fd, is_path_fd, policy, names, entry);
    alteration.alter_acl(entry);
    return read;
  }
};

}  // namespace rdcp::tree
