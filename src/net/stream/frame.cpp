#include "net/stream/frame.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "io/bytes.h"

namespace rdcp::net {
namespace {

constexpr std::uint32_t kMagic = 0x52464452;  // "RDFR"

// The offsets of fields on the wire.
constexpr std::size_t kKindAt = 4;
constexpr std::size_t kFlagsAt = 5;
constexpr std::size_t kStatusAt = 6;
constexpr std::size_t kZeroAt = 7;
constexpr std::size_t kSlotAt = 8;
constexpr std::size_t kLengthAt = 12;
constexpr std::size_t kFileIdAt = 16;
constexpr std::size_t kOffsetAt = 24;
constexpr std::size_t kDigestAt = 32;
constexpr std::size_t kExtraAt = 48;
constexpr std::size_t kPackedAt = 64;
constexpr std::size_t kZerosAt = 68;
constexpr std::size_t kTagAt = 72;
constexpr std::size_t kCheckAt = 88;
static_assert(kCheckAt + sizeof(std::uint64_t) == kFrameBytes);

constexpr std::uint64_t kOffsetMax = std::numeric_limits<std::int64_t>::max();   // off_t's largest value
constexpr std::uint64_t kStreamMax = std::numeric_limits<std::uint16_t>::max();  // a stream index is a u16

// The fields of a frame that a kind uses, as the table in frame.h says.
enum : unsigned {
  kUsesSlot = 1,
  kUsesPayload = 2,  // length and digest
  kUsesFile = 4,
  kUsesOffset = 8,
  kUsesExtra = 16,
  kUsesStatus = 32,
  kMayBeAgain = 64,  // kFlagAgain
  kUsesVerdicts = 128,
};

constexpr unsigned uses(FrameKind kind) {
  switch (kind) {
    case FrameKind::archive:
      return kUsesSlot | kUsesPayload | kMayBeAgain;
    case FrameKind::open:
      return kUsesSlot | kUsesPayload | kUsesFile | kUsesOffset | kUsesExtra | kMayBeAgain;
    case FrameKind::data:
      return kUsesSlot | kUsesPayload | kUsesFile | kUsesOffset | kMayBeAgain;
    case FrameKind::commit:
      return kUsesSlot | kUsesPayload | kUsesFile | kUsesOffset | kUsesExtra | kMayBeAgain;
    case FrameKind::copy_range:
      return kUsesSlot | kUsesFile | kUsesOffset | kUsesExtra;
    case FrameKind::abandon:
      return kUsesSlot | kUsesFile | kMayBeAgain;
    case FrameKind::credit:
      return kUsesSlot | kUsesStatus | kUsesVerdicts;
    case FrameKind::compare:
    case FrameKind::names:
    case FrameKind::probe:
      return kUsesSlot | kUsesPayload | kUsesFile | kUsesOffset | kMayBeAgain;
    case FrameKind::ask:
      return kUsesSlot | kUsesFile | kUsesOffset | kUsesExtra;
    case FrameKind::lost:
      return kUsesSlot | kUsesOffset;
    case FrameKind::end:
      break;
  }
  return 0;
}

constexpr bool known(FrameKind kind) {
  return kind >= FrameKind::archive && kind <= FrameKind::ask;
}

constexpr bool known(AckStatus status) {
  return status >= AckStatus::granted && status <= AckStatus::has_part;
}

constexpr unsigned flags_of(FrameKind kind) {
  const unsigned again = (uses(kind) & kMayBeAgain) != 0 ? kFlagAgain : 0;
  if (kind == FrameKind::end) return kFlagCutShort;
  return kind == FrameKind::open ? again | kFlagSparse | kFlagCompare : again;
}

// Says what is wrong with the form of a frame of a known kind, or returns nullptr.
const char* fault_of(const Frame& frame) {
  const unsigned used = uses(frame.kind);
  const auto unused = [used](unsigned field) { return (used & field) == 0; };
  if ((frame.flags & ~flags_of(frame.kind)) != 0) return "undefined flags";
  if (!known(frame.status)) return "unknown status";
  if (unused(kUsesStatus) && frame.status != AckStatus::granted) return "a status where none belongs";
  if (unused(kUsesSlot) && frame.slot != 0) return "a slot where none belongs";
  if (unused(kUsesPayload) && frame.length != 0) return "a length without a payload";
  if (unused(kUsesPayload | kUsesVerdicts) && frame.digest != io::Digest{})
    return "a digest without a payload";
  if (!unused(kUsesPayload) && frame.length == 0) return "an empty payload";
  if (unused(kUsesPayload) && frame.tag != Tag{}) return "a tag without a payload";
  if (frame.packed != 0 && frame.packed >= frame.length) return "a compressed length that is not shorter";
  if (unused(kUsesFile) && frame.file_id != 0) return "a file where none belongs";
  if (unused(kUsesOffset) && frame.offset != 0) return "an offset where none belongs";
  if (unused(kUsesExtra | kUsesVerdicts) && frame.extra != io::Digest{})
    return "extra bytes where none belong";
  if (frame.kind == FrameKind::credit && frame.status != AckStatus::done && frame.verdicts() != Verdicts()) {
    return "verdicts on what was not done";
  }
  if (frame.offset > kOffsetMax - frame.length) return "an offset beyond every file";
  if (frame.kind == FrameKind::lost && frame.offset > kStreamMax) return "a stream that cannot exist";
  return nullptr;
}

io::Error bad_frame(const char* fault) {
  return io::plain_error(io::ErrorKind::protocol, "read", "frame", fault);
}

}  // namespace

bool may_answer(FrameKind kind, std::uint8_t flags, const Frame& credit) {
  const bool opens = kind == FrameKind::open;
  const bool asks = kind == FrameKind::compare || kind == FrameKind::names || kind == FrameKind::probe ||
                    kind == FrameKind::ask;
  switch (credit.status) {
    case AckStatus::granted:
      return false;
    case AckStatus::done:
      return asks || credit.verdicts() == Verdicts();
    case AckStatus::refused:
      return true;
    case AckStatus::bad_digest:
      return has_payload(kind);
    case AckStatus::unsupported:
      return kind == FrameKind::copy_range || (opens && (flags & (kFlagSparse | kFlagCompare)) != 0);
    case AckStatus::in_turn:
    case AckStatus::has_basis:
    case AckStatus::has_like:
    case AckStatus::has_part:
      return opens;
  }
  return false;
}

Verdicts Frame::verdicts() const {
  Verdicts verdicts;
  std::memcpy(verdicts.bytes_.data(), digest.bytes.data(), sizeof digest.bytes);
  std::memcpy(verdicts.bytes_.data() + sizeof digest.bytes, extra.bytes.data(), sizeof extra.bytes);
  return verdicts;
}

void Frame::set_verdicts(const Verdicts& verdicts) {
  static_assert(sizeof verdicts.bytes_ == sizeof digest.bytes + sizeof extra.bytes);
  std::memcpy(digest.bytes.data(), verdicts.bytes_.data(), sizeof digest.bytes);
  std::memcpy(extra.bytes.data(), verdicts.bytes_.data() + sizeof digest.bytes, sizeof extra.bytes);
}

bool has_payload(FrameKind kind) {
  return (uses(kind) & kUsesPayload) != 0;
}

bool takes_slot(FrameKind kind) {
  return (uses(kind) & kUsesSlot) != 0 && kind != FrameKind::credit;
}

FrameBytes encode(const Frame& frame) {
  assert(known(frame.kind) && fault_of(frame) == nullptr);
  FrameBytes bytes{};
  const bool has_status = frame.kind == FrameKind::credit;
  io::store_le(bytes.data(), kMagic);
  bytes[kKindAt] = static_cast<std::byte>(frame.kind);
  bytes[kFlagsAt] = static_cast<std::byte>(frame.flags);
  bytes[kStatusAt] = has_status ? static_cast<std::byte>(frame.status) : std::byte{0};
  io::store_le(bytes.data() + kSlotAt, frame.slot);
  io::store_le(bytes.data() + kLengthAt, frame.length);
  io::store_le(bytes.data() + kFileIdAt, frame.file_id);
  io::store_le(bytes.data() + kOffsetAt, frame.offset);
  std::ranges::copy(frame.digest.bytes, bytes.begin() + kDigestAt);
  std::ranges::copy(frame.extra.bytes, bytes.begin() + kExtraAt);
  io::store_le(bytes.data() + kPackedAt, frame.packed);
  std::ranges::copy(frame.tag, bytes.begin() + kTagAt);
  io::store_le(bytes.data() + kCheckAt, io::check_of(std::span(bytes).first<kCheckAt>()));
  return bytes;
}

io::Result<Frame> decode(std::span<const std::byte, kFrameBytes> bytes) {
  if (io::load_le<std::uint32_t>(bytes.data()) != kMagic)
    return bad_frame("not a frame (wrong magic number)");
  if (io::load_le<std::uint64_t>(bytes.data() + kCheckAt) != io::check_of(bytes.first<kCheckAt>())) {
    return bad_frame("damaged frame (wrong check)");
  }
  Frame frame;
  frame.kind = static_cast<FrameKind>(bytes[kKindAt]);
  if (!known(frame.kind)) return bad_frame("unknown kind of frame");
  const bool has_status = frame.kind == FrameKind::credit;
  if (has_status) {
    frame.status = static_cast<AckStatus>(bytes[kStatusAt]);
  } else if (bytes[kStatusAt] != std::byte{0}) {
    return bad_frame("a status where none belongs");
  }
  frame.flags = static_cast<std::uint8_t>(bytes[kFlagsAt]);
  frame.slot = io::load_le<std::uint32_t>(bytes.data() + kSlotAt);
  frame.length = io::load_le<std::uint32_t>(bytes.data() + kLengthAt);
  frame.file_id = io::load_le<std::uint64_t>(bytes.data() + kFileIdAt);
  frame.offset = io::load_le<std::uint64_t>(bytes.data() + kOffsetAt);
  std::ranges::copy(bytes.subspan<kDigestAt, 16>(), frame.digest.bytes.begin());
  std::ranges::copy(bytes.subspan<kExtraAt, 16>(), frame.extra.bytes.begin());
  frame.packed = io::load_le<std::uint32_t>(bytes.data() + kPackedAt);
  std::ranges::copy(bytes.subspan<kTagAt, kTagBytes>(), frame.tag.begin());
  const auto zeros = bytes.subspan<kZerosAt, kTagAt - kZerosAt>();
  const bool padded = std::ranges::all_of(zeros, [](std::byte b) { return b == std::byte{0}; });
  if (bytes[kZeroAt] != std::byte{0} || !padded) return bad_frame("undefined bytes");
  if (const char* fault = fault_of(frame)) return bad_frame(fault);
  return frame;
}

}  // namespace rdcp::net
