// Names one mount of one boot, so that what was written before a loss of power is told from what came after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rdcp::tree {

// The kernel's boot id, another one after each boot. Empty: it cannot be read.
std::string boot_id();

// As long as a filesystem stays mounted and its host runs, what was written to it reads as it was written,
// flushed or not: the page cache has it, whatever became of the process. Whoever finds the same stamp later
// may trust size, mtime and records of what has been written; another stamp, or none, proves nothing.
// Hashes the boot id and the id of the mount that fd lies on (statx(2); STATX_MNT_ID_UNIQUE, since Linux 6.8,
// is never used again within a boot, STATX_MNT_ID, since 5.8, may be after umount). None where one of the two
// cannot be told: two unknown mounts are not the same mount.
std::optional<std::uint64_t> mount_stamp(int fd);
// The same with a boot id that the caller has read.
std::optional<std::uint64_t> mount_stamp(int fd, const std::string& boot_id);

}  // namespace rdcp::tree
