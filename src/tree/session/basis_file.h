// A file that a target has when a large one is about to be sent.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "io/fd.h"
#include "io/file.h"
#include "io/ring.h"
#include "tree/session/chunk_index.h"

namespace rdcp::tree {

// A file of the target's that blocks may be taken from. Shared by the workers.
struct BasisFile {
  io::Fd fd;
  io::RingFile file;
  struct stat status {};        // when it was opened
  bool is_other = false;        // it has another name than the file that is sent
  bool may_have_moved = false;  // the new file has another size: what differs here may be there elsewhere
  // Extents can be shared with it (FICLONERANGE), until that fails.
  std::atomic<bool> clones{true};
  std::atomic<bool> was_cloned{false};
  // Made when it is first wanted, by one worker, behind the file's mutex; from then on it does not change.
  enum class IndexState : std::uint8_t { none, in_the_making, ready, given_up };
  IndexState index_state = IndexState::none;
  std::optional<ChunkIndex> index;
  std::shared_ptr<void> index_leave;  // to have one: there are not many

  std::uint64_t size() const { return static_cast<std::uint64_t>(status.st_size); }
  // Somebody has written to it since it was opened.
  bool has_changed() const {
    struct stat now {};
    return ::fstat(fd.get(), &now) != 0 || now.st_size != status.st_size ||
           now.st_mtim.tv_sec != status.st_mtim.tv_sec || now.st_mtim.tv_nsec != status.st_mtim.tv_nsec;
  }
};

}  // namespace rdcp::tree
