// Decides how a file is read and written in bulk, and finds which parts of it hold data.
#pragma once

#include <cstdint>
#include <optional>

#include "io/fd.h"
#include "io/result.h"
#include "io/ring.h"

namespace rdcp::io {

enum class CacheMode : unsigned char { automatic, keep, bypass };
constexpr CacheMode last_of(CacheMode) {
  return CacheMode::bypass;
}

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool operator==(const Extent&) const = default;
};

// Returns the share of [0, size) that is in the page cache, 0.0 to 1.0, by cachestat(2) (Linux 6.5), else by
// mincore(2) on a mapping. Large files are only sampled. If neither call can tell, the result is 0.0.
double resident_part(int fd, std::uint64_t size);

// True if fd's filesystem supports O_DIRECT with 4096-byte alignment or finer (statx STATX_DIOALIGN, Linux
// 6.1). False for memory filesystems (tmpfs), which are always buffered.
bool supports_direct(int fd);

// Decides how fd is read, and switches O_DIRECT on if needed (fcntl F_SETFL). automatic: files in the page
// cache are read buffered, on the worker's thread, others with O_DIRECT where possible, unless they are
// small. keep never uses O_DIRECT; bypass does where possible.
RingFile choose_source(int fd, std::uint64_t size, CacheMode mode);

// Decides the same for a file that is about to be written with `size` bytes.
RingFile choose_target(int fd, std::uint64_t size, CacheMode mode);

// Enlarges a pipe's buffer to 1 MiB, the default of /proc/sys/fs/pipe-max-size, so that both ends move more
// at a time. Does nothing if fd is not a pipe or the kernel refuses.
void enlarge_pipe(int fd);

// Opens the regular file fd once more for O_DIRECT reads. These come from the disk; what was written but is
// not there yet is written first (open(2), O_DIRECT beside the page cache). Returns no descriptor if the
// filesystem does not support O_DIRECT or /proc is missing.
Fd reopen_direct(int fd);

// Writes back fd's dirty pages and drops all its pages, so that reads come from the disk. Returns false if
// they do not, because this filesystem is in memory or keeps pages, or, with errno not 0, because the pages
// could not be written.
bool drop_pages(int fd);

// Reserves space for a file of `size` bytes that is about to be written whole, by fallocate(2). Does nothing
// on filesystems that cannot do it (EOPNOTSUPP) and on memory filesystems, where it gains nothing. Other
// failures are errors, for example ENOSPC, EDQUOT or EFBIG. A descriptor has no name, so the caller fills in
// their subject.
Result<void> preallocate(int fd, std::uint64_t size);

// Lists the data extents of a file in order and without overlap, aligned outwards to kPageBytes (clipped to
// size). A file that is not sparse is one extent.
class DataExtents {
 public:
  DataExtents(int fd, std::uint64_t size, bool sparse) : fd_(fd), size_(size), sparse_(sparse) {}
  // Returns the next extent of at most max_length bytes (a multiple of kPageBytes), or nothing at the end.
  // Uses lseek SEEK_DATA and SEEK_HOLE; on a filesystem without them everything is data.
  std::optional<Extent> next(std::uint64_t max_length);

 private:
  bool find_data();

  int fd_;
  std::uint64_t size_;
  bool sparse_;
  std::uint64_t position_ = 0;
  std::uint64_t data_end_ = 0;
};

}  // namespace rdcp::io
