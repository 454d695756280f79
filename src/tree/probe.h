// What a probe frame carries: the digests of a span's pieces, for the target to compare with what it has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/arena.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/result.h"
#include "net/frame.h"

namespace rdcp::tree {

inline constexpr std::size_t kSpanPiecesMax = net::Verdicts::kCount;
inline constexpr std::uint64_t kBlockBytesMax = 128 << 10;

// The target's word on a piece. moved: missing here, but the file has another size than its old one, which
// may have the piece elsewhere.
enum class PieceVerdict : std::uint8_t { missing = 0, present = 1, moved = 2 };

// The probe itself lies in a slot's first page; behind it is room to read the pieces into.
inline constexpr std::size_t kProbeBytesMax = io::kPageBytes;
inline std::span<std::byte> room_of(std::span<std::byte> slot) {
  return slot.subspan(kProbeBytesMax);
}

// Both sides know the size of a slot, hence that of a block; 0: slots are too small for blocks.
std::uint64_t block_bytes_for(std::uint64_t slot_bytes);

// How much is read at once: whole blocks, and for O_DIRECT room for what is read before and behind them. What
// is in memory anyway is best digested while it is in the processor's cache.
std::uint64_t bytes_at_once(std::uint64_t room_bytes, bool resident, std::uint64_t block_bytes);

// A read from any place, as O_DIRECT wants it.
struct AlignedRead {
  AlignedRead(const io::RingFile& file, std::uint64_t from, std::size_t wanted)
      : skew(file.direct ? from % io::kPageBytes : 0),
        offset(from - skew),
        bytes(file.direct ? io::round_up(skew + wanted, io::kPageBytes) : wanted) {}
  // What was wanted of the room that it was read into, as far as it is there.
  template <class Byte>
  std::span<Byte> wanted_of(std::span<Byte> room, std::size_t read, std::size_t wanted) const {
    return room.subspan(skew, std::min(wanted, std::max(read, skew) - skew));
  }
  std::size_t skew;
  std::uint64_t offset;
  std::size_t bytes;
};

// On the wire, little-endian: length of the span u64, size u32, form u32, then the pieces.
//
//   blocks  size is that of each block, the last one may be shorter; a piece is a digest
//   chunks  size is the average of the Chunker; a piece is a digest and a length u32
class Probe {
 public:
  enum class Form : std::uint32_t { blocks = 0, chunks = 1 };
  static constexpr std::size_t kHeadBytes = 16;

  // Source: put together in a slot.
  static std::size_t bytes_of(Form form, std::size_t pieces);
  static void put_head(std::span<std::byte> slot, Form form, std::uint64_t length, std::uint64_t size);
  static void put_digest(std::span<std::byte> slot, std::size_t index, const io::Digest& digest);
  static void put_chunk(std::span<std::byte> slot, std::size_t index, const io::Digest& digest,
                        std::uint64_t length);
  // An ask frame says the same of blocks in its extra field, without digests.
  static void put_question(io::Digest& extra, std::uint64_t length, std::uint64_t block_bytes);

  // Errors (protocol): a length or size of 0, more pieces than verdicts, not as many as the length makes, a
  // size that no chunker has, chunks that are not as long together as the span.
  static io::Result<Probe> parse(std::span<const std::byte> payload);
  static io::Result<Probe> parse_question(const io::Digest& extra);

  Form form() const { return form_; }
  std::uint64_t length() const { return length_; }
  std::uint64_t size() const { return size_; }
  std::size_t count() const { return count_; }
  // Relative to the span; blocks only.
  io::Extent block(std::size_t index) const;
  io::Digest digest(std::size_t index) const;
  std::uint64_t piece_length(std::size_t index) const;

 private:
  io::Result<void> take_head(std::span<const std::byte> head);
  io::Result<void> take_chunks();

  std::span<const std::byte> payload_;
  Form form_ = Form::blocks;
  std::uint64_t length_ = 0;
  std::uint64_t size_ = 0;
  std::size_t count_ = 0;
};

}  // namespace rdcp::tree
