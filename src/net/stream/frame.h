// The fixed-size header that travels with a chunk, or alone as a message. See "The wire" in ARCHITECTURE.md.
//
// On the wire, little-endian:
//
//    0  magic "RDFR"       12  length             32  digest (16 bytes)
//    4  kind               16  file id            48  extra  (16 bytes)
//    5  flags              24  offset             64  packed length, or zero
//    6  status, or zero                           68  zero
//    7  zero                                      72  tag, or zeros (16 bytes)
//    8  slot                                      88  XXH3-64 of bytes 0..87
//
// The fields that each kind uses; all others are zero:
//
//    archive     slot length digest flags
//    open        slot length digest file_id offset extra flags
//    data        slot length digest file_id offset flags
//    commit      slot length digest file_id offset extra flags
//    copy_range  slot file_id offset extra
//    abandon     slot file_id flags
//    compare     slot length digest file_id offset flags
//    names       slot length digest file_id offset flags
//    probe       slot length digest file_id offset flags
//    ask         slot file_id offset extra
//    end
//    credit      slot status verdicts (with status done)
//    lost        slot offset
//
// Verdicts take the place of digest and extra. Pages (compare, names) belong to no file: their file_id is
// their turn, and their offset the lowest turn of pages that may still come. So lines are told in one order,
// whichever page is answered first.
//
// The packed length says that a payload is packed: that many bytes travel, fewer than `length`, and unpack to
// it. On a sealed stream the tag is the payload's. Digest and length are those of the unpacked payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/digest.h"
#include "io/result.h"
#include "net/crypto/seal.h"
#include "net/stream/verdicts.h"

namespace rdcp::net {

inline constexpr std::size_t kFrameBytes = 96;

enum class FrameKind : std::uint8_t {
  // Source to target, each with a payload in the slot it names.
  archive = 1,  // payload: an archive chunk
  open = 2,    // payload: one archive entry without content; offset: expected file size; flag kSparse; extra:
               // identifies the file and its state, so that the target recognizes it again, or is zeros
  data = 3,    // payload: bytes of file file_id at offset
  commit = 4,  // payload: one archive entry, the final metadata; offset: final size; extra: the file's digest
  copy_range = 5,  // no payload, only for local copies; extra: source descriptor and length; offset: where
  abandon = 6,     // no payload: the source gives file_id up; the target drops its temporary file
  // Source to target, without a slot.
  end = 7,  // nothing more comes on this stream
  // Target to source, without a payload.
  credit = 8,  // slot is free; status says what became of the chunk that was in it
  // Source to target, in a slot. No payload; offset: the index of a lost stream. It is answered once the
  // target has ended that stream, too; only then is what was under way on it sent again.
  lost = 9,
  // Questions about what the target has; the verdicts of the credit answer them.
  compare = 10,  // payload: a page of entries; verdict: what becomes of each
  names = 11,    // payload: what a directory of the source holds, so that the target can tell what it lacks
  probe = 12,    // payload: digests of file_id's blocks from offset on; verdict: which the target has already
  ask = 13,      // no payload; extra: length and block size: which of file_id's blocks from offset on are
                 // there from an earlier run
};

inline constexpr std::uint8_t kFlagSparse = 1;  // on open: the file has holes, do not preallocate
// On archive, compare, names, open, data, probe, commit, abandon: the frame may have been sent before, over a
// stream that was lost.
inline constexpr std::uint8_t kFlagAgain = 2;
inline constexpr std::uint8_t kFlagCompare = 4;  // on open: only compare with what is there; write nothing
// On end: the source has failed, so not all came. Why is told elsewhere.
inline constexpr std::uint8_t kFlagCutShort = 8;

// Says what became of a chunk.
enum class AckStatus : std::uint8_t {
  granted = 1,      // first permission to use the slot; no chunk was in it
  done = 2,         // verified and written
  bad_digest = 3,   // arrived damaged; send it again
  refused = 4,      // verified, but its file could not be written; the target has reported why
  unsupported = 5,  // copy_range: not on these filesystems; send the bytes. open with a flag: not like this
  in_turn = 6,      // open: done, and its chunks should come over one stream (see tree/plan/file_transfer.h)
  // Also answers to open, as done: the target could avoid a full transfer (see Spans in tree/plan/spans.h).
  has_basis = 7,  // it has an old version (a basis file), to be probed
  has_like = 8,   // it has another file that may be alike, to be probed
  has_part = 9,   // it has a part of this very file, whose blocks are asked for
};

// The host form of a frame. decode() checks the form of every field, and the receiver checks each against
// what was granted.
struct Frame {
  FrameKind kind = FrameKind::end;
  std::uint8_t flags = 0;
  AckStatus status = AckStatus::granted;  // credit only
  std::uint32_t slot = 0;
  std::uint32_t length = 0;  // payload bytes
  std::uint64_t file_id = 0;
  std::uint64_t offset = 0;
  io::Digest digest{};       // of the payload
  io::Digest extra{};        // see FrameKind
  std::uint32_t packed = 0;  // how long the payload is on the wire, if it is compressed
  Tag tag{};                 // of the payload as it travels, if it is sealed

  // These are for credits.
  Verdicts verdicts() const;
  void set_verdicts(const Verdicts& verdicts);
  bool operator==(const Frame&) const = default;
};

bool has_payload(FrameKind kind);
// True for the frames that travel in a slot and are answered with a credit.
bool takes_slot(FrameKind kind);

// True if a target may send this credit for a frame of that kind and with those flags. Any other answer would
// lead the source where the protocol does not go: it would send the same chunk for ever, or read verdicts on
// what it did not ask.
bool may_answer(FrameKind kind, std::uint8_t flags, const Frame& credit);

// Returns how many bytes of payload travel behind the frame.
constexpr std::uint32_t wire_bytes(const Frame& frame) {
  return frame.packed != 0 ? frame.packed : frame.length;
}

using FrameBytes = std::array<std::byte, kFrameBytes>;

// Encodes little-endian, with a magic number first and an XXH3-64 check of all before it last. A frame that
// decode() would refuse is a bug.
FrameBytes encode(const Frame& frame);

// Errors (protocol): wrong magic, wrong check, unknown kind or status, undefined flag bits, a non-zero field
// that the kind does not use, a length without payload or a payload kind of length 0 (data chunks are never
// empty either), a packed length that is not smaller than the length, an offset that does not fit an off_t by
// itself or with the length added, an index that no stream can have.
io::Result<Frame> decode(std::span<const std::byte, kFrameBytes> bytes);

}  // namespace rdcp::net
