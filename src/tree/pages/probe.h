// The content of a probe frame: digests of the pieces of a span, for the target to compare with what it has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/arena.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/result.h"
#include "net/stream/frame.h"

namespace rdcp::tree {

inline constexpr std::size_t kSpanPiecesMax = net::Verdicts::kCount;
inline constexpr std::uint64_t kBlockBytesMax = 128 << 10;

// The target's verdict on a piece. `moved`: missing here, but the file's size differs from that of its basis
// file, which may have the piece elsewhere.
enum class PieceVerdict : std::uint8_t { missing = 0, present = 1, moved = 2 };
inline void set_verdict(net::Verdicts& verdicts, std::size_t piece, PieceVerdict verdict) {
  verdicts.set(piece, static_cast<std::uint8_t>(verdict));
}
inline bool piece_is_present(const net::Verdicts& verdicts, std::size_t piece) {
  return verdicts.at(piece) == static_cast<std::uint8_t>(PieceVerdict::present);
}

// The probe is in the first page of a slot. The rest is room to read the pieces into.
inline constexpr std::size_t kProbeBytesMax = io::kPageBytes;
inline std::span<std::byte> room_of(std::span<std::byte> slot) {
  return slot.subspan(kProbeBytesMax);
}

// The size of a block, which both sides derive from the size of a slot. It is 0 if slots are too small for
// blocks.
std::uint64_t block_bytes_for(std::uint64_t slot_bytes);

// How many bytes to read at once: whole blocks, with room left for what O_DIRECT reads before and after them.
// If the file is in memory anyway, it is less, so that the bytes are digested while they are in the
// processor's cache.
std::uint64_t bytes_at_once(std::uint64_t room_bytes, bool resident, std::uint64_t block_bytes);

// A read from any offset, widened to whole pages if the file is open with O_DIRECT.
struct AlignedRead {
  AlignedRead(const io::RingFile& file, std::uint64_t from, std::size_t wanted)
      : skew(file.direct ? from % io::kPageBytes : 0),
        offset(from - skew),
        bytes(file.direct ? io::round_up(skew + wanted, io::kPageBytes) : wanted) {}
  // Returns the wanted bytes in the room that was read into, as far as they are there.
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
//   blocks  size is that of each block (the last one may be shorter); a piece is a digest
//   chunks  size is the average of the Chunker; a piece is a digest and a length u32
class Probe {
 public:
  enum class Form : std::uint32_t { blocks = 0, chunks = 1 };
  static constexpr std::size_t kHeadBytes = 16;

  // The source puts a probe together in a slot.
  static std::size_t bytes_of(Form form, std::size_t pieces);
  static void put_head(std::span<std::byte> slot, Form form, std::uint64_t length, std::uint64_t size);
  static void put_digest(std::span<std::byte> slot, std::size_t index, const io::Digest& digest);
  static void put_chunk(std::span<std::byte> slot, std::size_t index, const io::Digest& digest,
                        std::uint64_t length);
  // Puts a question about blocks, without digests, into the extra field of an ask frame.
  static void put_question(io::Digest& extra, std::uint64_t length, std::uint64_t block_bytes);

  // Errors (protocol): a length or size is 0, there are more pieces than verdicts or not as many as the
  // length needs, no Chunker has this size, or the chunks together are not as long as the span.
  static io::Result<Probe> parse(std::span<const std::byte> payload);
  static io::Result<Probe> parse_question(const io::Digest& extra);

  Form form() const { return form_; }
  std::uint64_t length() const { return length_; }
  std::uint64_t size() const { return size_; }
  std::size_t count() const { return count_; }
  // Returns where a block is, relative to the span. Only for the form `blocks`.
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
