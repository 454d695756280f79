// What a source has to do: pieces of work for the slots of its workers, one type for each kind.
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

namespace rdcp::tree {

// Sends small items, as many at a time as fit into a slot.
struct PackTask {
  Batch batch;
};
// Asks about the items of a batch, a page at a time; what differs is packed then (sync).
struct CompareTask {
  Batch batch;
};
// Tells what directories hold, so that the target can remove what the source lacks (--delete).
struct NamesTask {
  NamesBatch names;
};

// Opens a large file at both ends.
struct OpenTask {
  FileTransferRef file;
};
// Sends bytes of it.
struct DataTask {
  FileTransferRef file;
  io::Extent extent;
};
// Has the target's kernel copy them.
struct CopyRangeTask {
  FileTransferRef file;
  io::Extent extent;
};
// Asks which blocks of a span the target has, by their digests.
struct ProbeTask {
  FileTransferRef file;
  io::Extent extent;
  Spans asked = Spans::probe;
  std::vector<std::byte> sent;  // what went over a stream that was lost, to be sent again as it was
};
// Asks which chunks of a span, cut by content, the target has anywhere.
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
  bool given_up = false;  // at the last look it had changed: the target is to drop it after all
};
// Has the target drop it.
struct AbandonTask {
  FileTransferRef file;
};

// Tells the target that a stream is lost.
struct LostTask {
  std::size_t stream = 0;
};

using Task = std::variant<PackTask, CompareTask, NamesTask, OpenTask, DataTask, CopyRangeTask, ProbeTask,
                          ChunksTask, AskTask, CommitTask, AbandonTask, LostTask>;

// What a worker's slot has under way.
struct Work {
  Task task;
  bool again = false;  // it was under way on a stream that was lost
};

// The large file that a task is about; null: none.
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
