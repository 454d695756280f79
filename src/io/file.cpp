#include "io/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "io/arena.h"
#include "io/retry.h"

namespace rdcp::io {
namespace {

// If less of a file than this is in the page cache, all of it is read past the page cache.
constexpr double kResidentPart = 0.5;

// A smaller source file costs one read either way, and the page cache reads ahead.
constexpr std::uint64_t kDirectSourceBytesMin = 64 << 10;

// A smaller target file is likely to stay in memory until somebody reads it, and is soon written back.
constexpr std::uint64_t kDirectTargetBytesMin = 8 << 20;

bool is_in_memory_filesystem(int fd) {
  struct statfs status;
  if (::fstatfs(fd, &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC || status.f_type == HUGETLBFS_MAGIC;
}

RingFile buffered(int fd) {
  return {.fd = fd};
}

RingFile resident(int fd) {
  return {.fd = fd, .resident = true};
}

RingFile direct_where_possible(int fd) {
  if (!supports_direct(fd)) return buffered(fd);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) return buffered(fd);
  return {.fd = fd, .direct = true};
}

bool target_is_better_written_direct(std::uint64_t size) {
  return size >= kDirectTargetBytesMin;
}

bool pages_are_dropped(int fd) {
  struct stat status;
  if (::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0 || ::fstat(fd, &status) != 0) return false;
  return status.st_size == 0 || resident_part(fd, static_cast<std::uint64_t>(status.st_size)) == 0.0;
}

}  // namespace

bool supports_direct(int fd) {
  struct statx status {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0) return false;
  if ((status.stx_mask & STATX_DIOALIGN) == 0 || is_in_memory_filesystem(fd)) return false;
  const auto is_fine = [](std::uint32_t align) { return align > 0 && kPageBytes % align == 0; };
  return is_fine(status.stx_dio_mem_align) && is_fine(status.stx_dio_offset_align);
}

RingFile choose_source(int fd, std::uint64_t size, CacheMode mode) {
  if (is_in_memory_filesystem(fd)) return resident(fd);
  if (mode == CacheMode::bypass) return direct_where_possible(fd);
  if (resident_part(fd, size) >= kResidentPart) return resident(fd);
  if (mode == CacheMode::keep || size < kDirectSourceBytesMin) return buffered(fd);
  return direct_where_possible(fd);
}

RingFile choose_target(int fd, std::uint64_t size, CacheMode mode) {
  switch (mode) {
    case CacheMode::keep:
      return buffered(fd);
    case CacheMode::bypass:
      return direct_where_possible(fd);
    case CacheMode::automatic:
      return target_is_better_written_direct(size) ? direct_where_possible(fd) : buffered(fd);
  }
  return buffered(fd);
}

void enlarge_pipe(int fd) {
  constexpr int kPipeBytes = 1 << 20;
  // A smaller buffer is only slower, so a failure does not matter.
  if (::fcntl(fd, F_GETPIPE_SZ) < kPipeBytes) (void)::fcntl(fd, F_SETPIPE_SZ, kPipeBytes);
}

Fd reopen_direct(int fd) {
  if (!supports_direct(fd)) return {};
  const std::string own = "/proc/self/fd/" + std::to_string(fd);
  return Fd(::open(own.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY));
}

bool drop_pages(int fd) {
  errno = 0;
  if (is_in_memory_filesystem(fd)) return false;
  // This writes no metadata, which would cost a commit for each file. If pages stay, it was not enough.
  (void)::sync_file_range(fd, 0, 0,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  if (pages_are_dropped(fd)) return true;
  if (::fdatasync(fd) != 0) return false;
  errno = 0;
  return pages_are_dropped(fd);
}

Result<void> preallocate(int fd, std::uint64_t size) {
  if (size == 0 || is_in_memory_filesystem(fd)) return {};
  if (size > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
    return errno_error("preallocate", "", EFBIG);
  const int result = retry_eintr([&] { return ::fallocate(fd, 0, 0, static_cast<off_t>(size)); });
  // Sandboxes that do not know the call say ENOSYS.
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return {};
  return errno_error("preallocate", "");
}

std::optional<Extent> DataExtents::next(std::uint64_t max_length) {
  assert(max_length > 0 && max_length % kPageBytes == 0);
  if (position_ >= data_end_ && !find_data()) return std::nullopt;
  const Extent extent = {position_, std::min(max_length, data_end_ - position_)};
  position_ += extent.length;
  return extent;
}

// Moves on to the next data. ENXIO from SEEK_DATA means that there is no more data; any other error means
// that this filesystem cannot tell (lseek(2)), and everything is data.
bool DataExtents::find_data() {
  if (position_ >= size_) return false;
  data_end_ = size_;
  if (!sparse_) return true;
  const off_t data = ::lseek(fd_, static_cast<off_t>(position_), SEEK_DATA);
  if (data < 0 && errno != ENXIO) return true;
  if (data < 0 || static_cast<std::uint64_t>(data) >= size_) {
    position_ = size_;
    return false;
  }
  position_ = std::max(position_, static_cast<std::uint64_t>(data) / kPageBytes * kPageBytes);
  const off_t hole = ::lseek(fd_, data, SEEK_HOLE);
  if (hole >= 0)
    data_end_ = std::min<std::uint64_t>(size_, round_up(static_cast<std::uint64_t>(hole), kPageBytes));
  return true;
}

}  // namespace rdcp::io
