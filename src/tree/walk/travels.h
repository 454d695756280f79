// Decides which files are sent alone, and which are compared alone.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace rdcp::tree {

// Returns true for a file that is not packed with others: a large one, or one that takes less room on the
// disk than its size, which is sent by extents so that holes stay holes. Files below 64 KiB do not count as
// sparse: filesystems that pack or compress small files would make every file look so.
inline bool travels_alone(const struct stat& status, std::uint64_t small_file_max) {
  constexpr off_t kSparseMin = 64 << 10;
  const bool sparse =
      status.st_size >= kSparseMin && status.st_blocks * 512 < status.st_size - status.st_blksize;
  return S_ISREG(status.st_mode) && (static_cast<std::uint64_t>(status.st_size) > small_file_max || sparse);
}

// Returns true for a file that is asked about without its content (--checksum); both sides compare the
// content at once when it is open. False for a file with another name, which must not be changed with it.
inline bool is_compared_open(const struct stat& status, std::uint64_t digest_max) {
  return static_cast<std::uint64_t>(status.st_size) > digest_max && status.st_nlink == 1;
}

}  // namespace rdcp::tree
