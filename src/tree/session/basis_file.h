// A file of the target's whose blocks may be taken over when a large file is sent.
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

// Shared by the workers.
struct BasisFile {
  io::Fd fd;
  io::RingFile file;
  struct stat status {};        // its status when it was opened
  bool is_other = false;        // it has another name than the file that is sent
  bool may_have_moved = false;  // the new file has another size, so its blocks may lie elsewhere in this one
  // Extents are shared with it (FICLONERANGE) until that fails.
  std::atomic<bool> clones{true};
  std::atomic<bool> was_cloned{false};
  // One worker makes the index when it is first wanted; it does not change after that. The TargetFile's mutex
  // guards index_state.
  enum class IndexState : std::uint8_t { none, in_the_making, ready, given_up };
  IndexState index_state = IndexState::none;
  std::optional<ChunkIndex> index;
  std::shared_ptr<void> index_leave;  // permission to have an index; their number is limited

  std::uint64_t size() const { return static_cast<std::uint64_t>(status.st_size); }
  // Whether somebody has written to it since it was opened.
  bool has_changed() const {
    struct stat now {};
    return ::fstat(fd.get(), &now) != 0 || now.st_size != status.st_size ||
           now.st_mtim.tv_sec != status.st_mtim.tv_sec || now.st_mtim.tv_nsec != status.st_mtim.tv_nsec;
  }
};

}  // namespace rdcp::tree
