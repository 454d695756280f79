#include "tree/walk/stability.h"

#include <algorithm>
#include <ctime>

namespace rdcp::tree {
namespace {

// The longest tick of a kernel (CONFIG_HZ=100).
constexpr long kTick_ns = 10'000'000;

// Filesystems store mtimes by up to two seconds (vfat).
constexpr time_t kCoarsest_s = 2;

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Returns how far the kernel's clock for timestamps is behind `time`; the result is negative once `time` has
// passed.
long ahead_ns(const timespec& time) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  const time_t seconds = std::clamp(time.tv_sec, now.tv_sec - 2, now.tv_sec + 2) - now.tv_sec;
  return seconds * 1'000'000'000 + time.tv_nsec - now.tv_nsec;
}

}  // namespace

bool unchanged(const struct stat& before, const struct stat& after) {
  return before.st_ino == after.st_ino && before.st_dev == after.st_dev && before.st_size == after.st_size &&
         same_time(before.st_mtim, after.st_mtim) && same_time(before.st_ctim, after.st_ctim);
}

// A ctime further ahead is that of another host, whose ticks are not known here.
void wait_for_next_tick(const struct stat& before) {
  constexpr int kLooksMax = 20;
  constexpr timespec kPause{0, kTick_ns / 10};
  for (int looks = 0; looks < kLooksMax; ++looks) {
    const long ahead = ahead_ns(before.st_ctim);
    if (ahead < 0 || ahead > kTick_ns) return;
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kPause, nullptr);
  }
}

timespec torn_mtime(const struct stat& found, const struct stat& now, const SyncSettings& sync) {
  const timespec& first = found.st_mtim;
  const timespec& last = now.st_mtim;
  const time_t window_s = sync.modify_window_s;
  const bool told_apart = first.tv_sec / kCoarsest_s < last.tv_sec / kCoarsest_s &&
                          (window_s == 0 || last.tv_sec - first.tv_sec > window_s + 1);
  if (told_apart) return first;
  return {std::min(first.tv_sec, last.tv_sec) - kCoarsest_s - window_s - 1, first.tv_nsec};
}

io::Error changed_error(std::string_view subject, bool again) {
  return io::plain_error(io::ErrorKind::file, "copy", subject,
                         again ? "the file changed while it was read, each time it was read again; the copy "
                                 "may mix old and new, and the next run copies it anew"
                               : "the file changed while it was read; the copy may mix old and new");
}

}  // namespace rdcp::tree
