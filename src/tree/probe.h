// What a probe frame carries: the digests of a span's pieces, for the target to compare with what it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/arena.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/result.h"
#include "net/frame.h"

namespace rdcp::tree {

// A span is cut into blocks of one size, the last one shorter.
inline constexpr std::size_t kSpanBlocksMax = net::Verdicts::kCount;
inline constexpr std::uint64_t kBlockBytesMax = 128 << 10;

// The target's word on a piece.
enum class PieceVerdict : std::uint8_t { missing = 0, present = 1 };

// The probe itself lies in a slot's first page; behind it is room to read the pieces into.
inline constexpr std::size_t kProbeBytesMax = io::kPageBytes;
inline std::span<std::byte> room_of(std::span<std::byte> slot) {
  return slot.subspan(kProbeBytesMax);
}

// Both sides know the size of a slot, hence that of a block; 0: slots are too small for blocks.
std::uint64_t block_bytes_for(std::uint64_t slot_bytes);

// On the wire, little-endian: length of the span u64, block size u32, form u32, then the digests. What the
// target reads is checked by parse_probe() for form; against the file it is the caller's to check.
class Probe {
 public:
  static constexpr std::size_t kHeadBytes = 16;

  // Source: put together in a slot.
  static std::size_t bytes_of(std::size_t digests) { return kHeadBytes + digests * sizeof(io::Digest); }
  static void put_head(std::span<std::byte> slot, std::uint64_t length, std::uint64_t block_bytes);
  static void put_digest(std::span<std::byte> slot, std::size_t index, const io::Digest& digest);
  static io::Digest digest_in(std::span<const std::byte> slot, std::size_t index);
  // An ask frame says the same in its extra field, without digests.
  static void put_question(io::Digest& extra, std::uint64_t length, std::uint64_t block_bytes);
  static io::Result<Probe> parse_question(const io::Digest& extra);

  // Errors (protocol): a length or block size of 0, more blocks than verdicts, not as many digests as blocks.
  static io::Result<Probe> parse(std::span<const std::byte> payload);

  std::uint64_t length() const { return length_; }
  std::uint64_t block_bytes() const { return block_bytes_; }
  std::size_t count() const { return count_; }
  // Relative to the span.
  io::Extent block(std::size_t index) const;
  io::Digest digest(std::size_t index) const { return digest_in(payload_, index); }

 private:
  io::Result<void> take_head(std::span<const std::byte> head);

  std::span<const std::byte> payload_;
  std::uint64_t length_ = 0;
  std::uint64_t block_bytes_ = 0;
  std::size_t count_ = 0;
};

}  // namespace rdcp::tree
