// A file that a target has when a large one is about to be sent.
#pragma once

#include <sys/stat.h>

#include <atomic>

#include "io/fd.h"
#include "io/file.h"
#include "io/ring.h"

namespace rdcp::tree {

// A file of the target's that blocks may be taken from. Shared by the workers.
struct OldFile {
  io::Fd fd;
  io::RingFile file;
  struct stat status {};  // when it was opened
  bool is_other = false;  // it has another name than the file that is sent
  // Extents can be shared with it (FICLONERANGE), until that fails.
  std::atomic<bool> clones{true};
  std::atomic<bool> was_cloned{false};

  std::uint64_t size() const { return static_cast<std::uint64_t>(status.st_size); }
  // Somebody has written to it since it was opened.
  bool has_changed() const {
    struct stat now {};
    return ::fstat(fd.get(), &now) != 0 || now.st_size != status.st_size ||
           now.st_mtim.tv_sec != status.st_mtim.tv_sec || now.st_mtim.tv_nsec != status.st_mtim.tv_nsec;
  }
};

}  // namespace rdcp::tree
