// Cuts a stream of bytes where its content says so, so that bytes that were moved are cut as before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdcp::tree {

// A gear hash over the last 64 bytes decides, as in FastCDC. A chunk has at least average / 4 and at most
// average * 4 bytes, and the longer it is, the sooner it ends. Both ends must use the same average.
class Chunker {
 public:
  static constexpr std::uint64_t kAverageMin = 4 << 10;
  static constexpr std::uint64_t kAverageMax = 256 << 20;
  static bool is_average(std::uint64_t bytes);  // a power of two within the bounds

  // Begins the first chunk.
  explicit Chunker(std::uint64_t average);

  // Returns how many of the next bytes belong to the chunk. If ended() is true then, the chunk ends with
  // them, and the next call begins another one; else all bytes belong to it.
  std::size_t take(std::span<const std::byte> bytes);
  bool ended() const { return length_ == 0; }
  // The length of the current chunk so far.
  std::uint64_t length() const { return length_; }

 private:
  std::uint64_t min_;
  std::uint64_t average_;
  std::uint64_t max_;
  std::uint64_t strict_mask_;  // used until the chunk has the average length
  std::uint64_t loose_mask_;   // used from then on
  std::uint64_t length_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace rdcp::tree
