#include "tests/tree/fs/broken_close.h"

#include <dlfcn.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <atomic>
#include <cerrno>

#include "tests/tree/scratch_directory.h"

namespace {

std::atomic<dev_t> broken_device{0};

// ThreadSanitizer calls close(2) itself while it makes a report, and must not begin another one there.
[[gnu::no_sanitize("thread")]] bool is_broken(int fd, bool files_only) {
  struct stat status {};
  if (broken_device == 0 || ::fstat(fd, &status) != 0 || status.st_dev != broken_device) return false;
  return !files_only || S_ISREG(status.st_mode);
}

}  // namespace

// These take the place of the C library's, which are behind them.
extern "C" [[gnu::no_sanitize("thread")]] int fstatfs(int fd, struct statfs* status) noexcept {
  static const auto next = reinterpret_cast<int (*)(int, struct statfs*)>(::dlsym(RTLD_NEXT, "fstatfs"));
  const int result = next(fd, status);
  if (result == 0 && is_broken(fd, false)) status->f_type = NFS_SUPER_MAGIC;
  return result;
}

extern "C" [[gnu::no_sanitize("thread")]] int close(int fd) {
  static const auto next = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "close"));
  const int before = errno;
  const bool broken = is_broken(fd, true);
  errno = before;
  const int result = next(fd);
  if (!broken) return result;
  errno = EDQUOT;
  return -1;
}

namespace rdcp::tree {

BrokenClose::BrokenClose(const std::string& path) {
  broken_device = status_of(path).st_dev;
}

BrokenClose::~BrokenClose() {
  broken_device = 0;
}

}  // namespace rdcp::tree
