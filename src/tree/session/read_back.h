// Reads back what a target has written, from the disk wherever it can, and compares it with what came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/file.h"
#include "io/ring.h"
#include "tree/archive/archive.h"

namespace rdcp::tree {

// A file as it is read back. `opened` is a second descriptor, where one is needed.
struct ReadBackFile {
  io::RingFile file;
  io::Fd opened = {};
  bool from_disk = true;  // false: from the page cache, because the filesystem cannot read past it
};

// Opens a file that is still being written for reading back. It gets a descriptor of its own where needed; fd
// stays as it is.
ReadBackFile open_read_back(int fd);
// Prepares a file that is fully written: switches fd itself to O_DIRECT where that is possible, else drops
// its cached pages.
ReadBackFile turn_to_read_back(int fd);

// Counts the files that are read back together and are not done yet.
struct ReadBackGroup {
  std::size_t pending = 0;
};

// A small file's content as it came, and how it was found.
struct ReadBackCheck {
  ReadBackFile from;
  std::uint64_t size = 0;
  std::vector<ArchiveReader::Block> blocks;  // in order; between them are holes
  bool equal = true;
  int error = 0;  // errno of a failed read
  ReadBackGroup* group = nullptr;
};

// One per worker: coroutines that read many small files at a time through its ring. It is destroyed after the
// ring, when no group is pending or the ring broke.
class ReadBack {
 public:
  explicit ReadBack(io::Ring& ring) : ring_(ring), idle_(ring), waiting_(ring) {}
  io::Result<void> start();

  // Queues a check. check and group outlive the reading.
  void add(ReadBackCheck& check, ReadBackGroup& group);
  // Waits until some group is no longer pending; the caller looks which.
  io::WaitList::Awaiter wait() { return waiting_.wait(); }

  static constexpr std::size_t kReaders = 32;
  static constexpr std::size_t kBufferBytes = 128 << 10;

 private:
  io::Task reader(std::span<std::byte> buffer);

  io::Ring& ring_;
  std::optional<io::Arena> buffers_;
  std::deque<ReadBackCheck*> queue_;
  io::WaitList idle_;
  io::WaitList waiting_;
  std::vector<io::Task> readers_;
};

// Returns true if `found`, read at offset, has the bytes of the blocks, and zeros between them.
bool matches(std::span<const ArchiveReader::Block> blocks, std::uint64_t offset,
             std::span<const std::byte> found);

}  // namespace rdcp::tree
