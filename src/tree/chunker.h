// Cuts a stream of bytes where its content says so: bytes that were moved are cut as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdcp::tree {

// A gear hash over the last 64 bytes decides (as FastCDC does): a chunk is at least average / 4 and at most
// average * 4 long, and ends sooner the longer it is. Both ends must be given the same average.
class Chunker {
 public:
  static constexpr std::uint64_t kAverageMin = 4 << 10;
  static constexpr std::uint64_t kAverageMax = 256 << 20;
  static bool is_average(std::uint64_t bytes);  // a power of two within the bounds

  // Begins a chunk.
  explicit Chunker(std::uint64_t average);

  // How many of the next bytes belong to the chunk: all of them, or fewer or as many and ended(); the next
  // call then begins another.
  std::size_t take(std::span<const std::byte> bytes);
  bool ended() const { return length_ == 0; }
  // Of the chunk under way.
  std::uint64_t length() const { return length_; }

 private:
  std::uint64_t min_;
  std::uint64_t average_;
  std::uint64_t max_;
  std::uint64_t strict_mask_;  // until the chunk has the average length
  std::uint64_t loose_mask_;   // from then on
  std::uint64_t length_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace rdcp::tree
