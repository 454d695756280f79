#include "tests/tree/fs/broken_listing.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>

#include "tests/tree/scratch_directory.h"

namespace {

std::atomic<ino_t> broken{0};
std::atomic<dev_t> broken_device{0};
std::atomic<int> calls_left{0};

bool is_broken(DIR* listing) {
  struct stat status {};
  if (broken == 0 || ::fstat(::dirfd(listing), &status) != 0) return false;
  return status.st_ino == broken && status.st_dev == broken_device && calls_left-- <= 0;
}

}  // namespace

// Takes the place of the C library's, which is behind it.
extern "C" dirent* readdir(DIR* listing) {
  static const auto next = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir64"));
  const int before = errno;
  if (is_broken(listing)) {
    errno = EIO;
    return nullptr;
  }
  errno = before;
  return next(listing);
}

namespace rdcp::tree {

BrokenListing::BrokenListing(const std::string& directory, int calls) {
  const struct stat status = status_of(directory);
  calls_left = calls;
  broken_device = status.st_dev;
  broken = status.st_ino;
}

BrokenListing::~BrokenListing() {
  broken = 0;
}

}  // namespace rdcp::tree
