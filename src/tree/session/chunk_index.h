// Finds a file's content-defined chunks by their digests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/digest.h"
#include "tree/pages/chunker.h"

namespace rdcp::tree {

// It is first filled from the file's bytes in order, then searched. Chunks beyond kEntriesMax are not
// indexed; of equal chunks one is, so that many of them do not make a search long.
class ChunkIndex {
 public:
  static constexpr std::size_t kEntriesMax = 1 << 19;  // 16 MiB

  explicit ChunkIndex(std::uint64_t average) : chunker_(average), average_(average) {}

  std::uint64_t average() const { return average_; }
  bool is_full() const { return entries_.size() >= kEntriesMax; }
  void add(std::span<const std::byte> bytes);
  void finish();
  // Returns the offset of a chunk of this digest and length.
  std::optional<std::uint64_t> find(const io::Digest& digest, std::uint64_t length) const;

 private:
  struct Entry {
    io::Digest digest;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  void end_chunk();

  Chunker chunker_;
  std::uint64_t average_;
  io::RunningDigest running_;
  std::uint64_t begin_ = 0;  // where the chunk under way begins
  std::uint64_t end_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace rdcp::tree
