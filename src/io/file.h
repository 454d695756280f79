// How a file is opened for bulk I/O, and which parts of it hold data.
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

// Part of [0, size) that is in the page cache, 0.0 to 1.0:
// cachestat(2) (Linux 6.5), else mincore(2) of a mapping.
double resident_part(int fd, std::uint64_t size);

// True when fd's filesystem takes O_DIRECT with 4096-byte alignment or finer (statx STATX_DIOALIGN,
// Linux 6.1). Memory filesystems (tmpfs) report none and are always buffered.
bool supports_direct(int fd);

// Decides how fd is read and switches O_DIRECT on where it is (fcntl F_SETFL). automatic: resident files
// buffered and on the worker's thread, others O_DIRECT where possible. keep: always buffered; bypass:
// O_DIRECT where possible.
RingFile choose_source(int fd, std::uint64_t size, CacheMode mode);

// The same for a file about to be written with `size` bytes.
RingFile choose_target(int fd, std::uint64_t size, CacheMode mode);

// Gives a pipe the largest buffer that anybody may have (/proc/sys/fs/pipe-max-size, by default), so that
// both its ends move more at a time; what is no pipe stays as it is.
void enlarge_pipe(int fd);

// A second descriptor of the regular file fd, for O_DIRECT reads: what it reads comes from the disk, and what
// was written and is not there yet is written first (open(2), O_DIRECT beside the page cache). None where the
// filesystem does not take O_DIRECT, or /proc is missing.
Fd reopen_direct(int fd);

// Writes back what of fd is only in the page cache, and drops its pages, so that reads come from the disk.
// False: they do not, since this filesystem lives in memory or keeps pages; or, with errno not 0, the pages
// could not be written.
bool drop_pages(int fd);

// Reserves room for a file of `size` bytes that is about to be written whole: fallocate(2) on disks.
// Filesystems that cannot (EOPNOTSUPP) and memory filesystems, where it only costs, are left alone. ENOSPC,
// EDQUOT, EFBIG are errors; their subject is empty, since a descriptor has no name: the caller fills it in.
Result<void> preallocate(int fd, std::uint64_t size);

// The data extents of a file, in order and without overlap, aligned outwards to kPageBytes (clipped to size).
// Not sparse: one extent.
class DataExtents {
 public:
  DataExtents(int fd, std::uint64_t size, bool sparse) : fd_(fd), size_(size), sparse_(sparse) {}
  // The next extent of at most max_length bytes (a multiple of kPageBytes), or none at the end. lseek
  // SEEK_DATA and SEEK_HOLE; a filesystem without them yields everything.
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
