// Finds out which part of a file is in memory, with cachestat(2) where it exists, else with mincore(2).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "io/arena.h"
#include "io/file.h"

namespace rdcp::io {
namespace {

// From linux/mman.h of Linux 6.5; older headers lack these.
constexpr long kCachestatCall = 451;
struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t length;
};
struct Cachestat {
  std::uint64_t cached_pages;
  std::uint64_t dirty_pages;
  std::uint64_t writeback_pages;
  std::uint64_t evicted_pages;
  std::uint64_t recently_evicted_pages;
};

// Both calls walk page by page, 12 us a MiB, so in a large file only this many windows are looked at, evenly
// spread.
constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kWindowsMax = 64;

std::uint64_t system_page_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Returns the resident bytes of one window, or nothing with errno set.
std::optional<std::uint64_t> resident_by_cachestat(int fd, std::uint64_t offset, std::uint64_t length) {
  CachestatRange range = {offset, length};
  Cachestat answer{};
  if (::syscall(kCachestatCall, fd, &range, &answer, 0U) < 0) return std::nullopt;
  return std::min(answer.cached_pages * system_page_bytes(), length);
}

// mincore(2) calls every page resident if the caller neither owns the file nor may write it (Linux 5.2).
bool mincore_tells_the_truth(int fd) {
  struct stat status;
  if (::fstat(fd, &status) == 0 && status.st_uid == ::geteuid()) return true;
  return ::faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

std::optional<std::uint64_t> resident_by_mincore(int fd, std::uint64_t offset, std::uint64_t length) {
  void* mapped = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return std::nullopt;
  std::array<unsigned char, kWindowBytes / kPageBytes> pages;
  std::uint64_t resident = 0;
  if (::mincore(mapped, length, pages.data()) == 0) {
    const std::uint64_t page_bytes = system_page_bytes();
    const auto count = static_cast<std::ptrdiff_t>((length + page_bytes - 1) / page_bytes);
    const auto in_memory = [](unsigned char page) { return (page & 1) != 0; };
    resident = static_cast<std::uint64_t>(std::count_if(pages.begin(), pages.begin() + count, in_memory)) *
               page_bytes;
  }
  ::munmap(mapped, length);
  return std::min(resident, length);  // the last page may reach beyond the window
}

std::optional<std::uint64_t> resident_in_window(int fd, std::uint64_t offset, std::uint64_t length) {
  const auto resident = resident_by_cachestat(fd, offset, length);
  if (resident || errno != ENOSYS || !mincore_tells_the_truth(fd)) return resident;
  return resident_by_mincore(fd, offset, length);
}

}  // namespace

double resident_part(int fd, std::uint64_t size) {
  if (size == 0) return 1.0;
  const std::uint64_t stride = std::max(kWindowBytes, round_up(size / kWindowsMax, kWindowBytes));
  std::uint64_t looked_at = 0;
  std::uint64_t resident = 0;
  for (std::uint64_t offset = 0; offset < size; offset += stride) {
    const std::uint64_t length = std::min(kWindowBytes, size - offset);
    const auto in_window = resident_in_window(fd, offset, length);
    if (!in_window) return 0.0;
    resident += *in_window;
    looked_at += length;
  }
  return static_cast<double>(resident) / static_cast<double>(looked_at);
}

}  // namespace rdcp::io
