// Which files are sent alone, and which are compared alone.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace rdcp::tree {

// True for a file that is not packed with others: a large one, or one much smaller on the disk than it says,
// which is sent by extents, so that holes stay holes. Below a few pages that is not worth a file of its own:
// filesystems that pack or compress small files would make every file look sparse.
inline bool travels_alone(const struct stat& status, std::uint64_t small_file_max) {
  constexpr off_t kSparseMin = 64 << 10;
  const bool sparse =
      status.st_size >= kSparseMin && status.st_blocks * 512 < status.st_size - status.st_blksize;
  return S_ISREG(status.st_mode) && (static_cast<std::uint64_t>(status.st_size) > small_file_max || sparse);
}

// True for a file that is asked about without its content (--checksum), which is compared when it is open, by
// both sides at once. Not one with another name, which must not be changed with it.
inline bool is_compared_open(const struct stat& status, std::uint64_t digest_max) {
  return static_cast<std::uint64_t>(status.st_size) > digest_max && status.st_nlink == 1;
}

}  // namespace rdcp::tree
