// The tasks of a source: pieces of work for the slots of its workers, one type for each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "io/file.h"
#include "tree/pages/names_page.h"
#include "tree/plan/file_transfer.h"
#include "tree/plan/item.h"
#include "tree/streams/passed_chunk.h"

namespace rdcp::tree {

// Sends small items, as many at a time as fit into a slot.
struct PackTask {
  Batch batch;
};
// Asks about the items of a batch, a page at a time; then packs those that differ (sync).
struct CompareTask {
  Batch batch;
};
// Tells which names directories hold, so that the target can remove what the source lacks (--delete).
struct NamesTask {
  NamesBatch names;
};

// Opens a large file at both ends.
struct OpenTask {
  FileTransferRef file;
};
// Sends an extent of the file.
struct DataTask {
  FileTransferRef file;
  io::Extent extent;
};
// Has the target's kernel copy an extent.
struct CopyRangeTask {
  FileTransferRef file;
  io::Extent extent;
};
// Asks which blocks of a span the target has, by their digests.
struct ProbeTask {
  FileTransferRef file;
  io::Extent extent;
  Spans asked = Spans::probe;
  std::vector<std::byte> sent;  // the payload sent over a stream that was lost, to be sent again unchanged
};
// Asks which chunks of a span, cut by content, the target has anywhere in its file.
struct ChunksTask {
  FileTransferRef file;
  io::Extent extent;
  std::vector<std::byte> sent;  // as above
};
// Asks which blocks of a span an earlier run has written.
struct AskTask {
  FileTransferRef file;
  io::Extent extent;
};
// Gives the file its name.
struct CommitTask {
  FileTransferRef file;
  bool given_up = false;  // it had changed at the last look, so the target drops it after all
};
// Has the target drop the file.
struct AbandonTask {
  FileTransferRef file;
};

// Tells the target that a stream is lost.
struct LostTask {
  std::size_t stream = 0;
};

// Passes a chunk on that came from another host.
struct PassTask {
  PassedChunkRef chunk;
};

using Task = std::variant<PackTask, CompareTask, NamesTask, OpenTask, DataTask, CopyRangeTask, ProbeTask,
                          ChunksTask, AskTask, CommitTask, AbandonTask, LostTask, PassTask>;

// The work of one slot of a worker.
struct Work {
  Task task;
  bool again = false;  // it was under way on a stream that was lost
};

// Returns the large file that a task is about, or null.
inline FileTransfer* file_of(const Task& task) {
  return std::visit(
      [](const auto& one) -> FileTransfer* {
        if constexpr (requires { one.file; }) {
          return one.file.get();
        } else {
          return nullptr;
        }
      },
      task);
}

}  // namespace rdcp::tree
