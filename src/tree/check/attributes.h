// Digests what an inode has besides its stat, so that a list can hold it.
#pragma once

#include <array>
#include <cstddef>

#include "io/result.h"
#include "tree/messages/check_job.h"
#include "tree/meta/metadata.h"
#include "tree/meta/names.h"

namespace rdcp::tree {

// Returns what of the metadata a job lists.
MetadataPolicy policy_of(const ListJob& job);

// Returns a digest of the inode's xattrs and ACLs, in an order that does not depend on its filesystem; zeros
// if there are none. fd and the errors are those of read_xattrs().
io::Result<std::array<std::byte, 16>> attributes_of(int fd, bool is_path_fd, const MetadataPolicy& policy,
                                                    NameTable& names);

}  // namespace rdcp::tree
