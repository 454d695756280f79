// Identifies one mount of one boot. This tells what was written before a loss of power from what came after
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rdcp::tree {

// Returns the kernel's boot id, which changes with each boot, or an empty string if it cannot be read.
std::string boot_id();

// Hashes the boot id and the id of the mount that fd is on. As long as a filesystem stays mounted and its
// host runs, it reads as it was written, flushed or not, because the page cache outlives the process. So if
// the stamp is the same later, size, mtime and records of what was written can be trusted; another stamp, or
// none, proves nothing. The id comes from statx(2): STATX_MNT_ID_UNIQUE, since Linux 6.8, is never used again
// within a boot; STATX_MNT_ID, since 5.8, may be after umount. Returns nothing if boot id or mount id is
// unknown, because two unknown mounts are not the same one.
std::optional<std::uint64_t> mount_stamp(int fd);
// The same with a boot id that the caller has read.
std::optional<std::uint64_t> mount_stamp(int fd, const std::string& boot_id);

}  // namespace rdcp::tree
