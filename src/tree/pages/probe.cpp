#include "tree/pages/probe.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "io/bytes.h"
#include "tree/pages/chunker.h"

namespace rdcp::tree {

namespace {

constexpr std::size_t kLengthAt = 0;
constexpr std::size_t kSizeAt = 8;
constexpr std::size_t kFormAt = 12;
constexpr std::size_t kChunkPieceBytes = sizeof(io::Digest) + sizeof(std::uint32_t);
constexpr std::uint64_t kSlotBytesMin = 16 << 10;

static_assert(Probe::kHeadBytes + kSpanPiecesMax * kChunkPieceBytes <= kProbeBytesMax);

std::size_t piece_bytes(Probe::Form form) {
  return form == Probe::Form::blocks ? sizeof(io::Digest) : kChunkPieceBytes;
}

io::Error bad_probe(std::string_view what) {
  return io::plain_error(io::ErrorKind::protocol, "receive from", "the source", what);
}

}  // namespace

// Makes blocks small enough that several are read at once.
std::uint64_t block_bytes_for(std::uint64_t slot_bytes) {
  if (slot_bytes < kSlotBytesMin) return 0;
  return std::min(kBlockBytesMax, std::bit_floor((slot_bytes - kProbeBytesMax) / 2));
}

std::uint64_t bytes_at_once(std::uint64_t room_bytes, bool resident, std::uint64_t block_bytes) {
  const std::uint64_t most = room_bytes - io::kPageBytes;
  const std::uint64_t wanted = resident ? std::min(most, std::max(kBlockBytesMax, block_bytes)) : most;
  return wanted / block_bytes * block_bytes;
}

std::size_t Probe::bytes_of(Form form, std::size_t pieces) {
  return kHeadBytes + pieces * piece_bytes(form);
}

void Probe::put_head(std::span<std::byte> slot, Form form, std::uint64_t length, std::uint64_t size) {
  io::store_le(slot.data() + kLengthAt, length);
  io::store_le(slot.data() + kSizeAt, static_cast<std::uint32_t>(size));
  io::store_le(slot.data() + kFormAt, static_cast<std::uint32_t>(form));
}

void Probe::put_digest(std::span<std::byte> slot, std::size_t index, const io::Digest& digest) {
  std::ranges::copy(digest.bytes, slot.data() + bytes_of(Form::blocks, index));
}

void Probe::put_chunk(std::span<std::byte> slot, std::size_t index, const io::Digest& digest,
                      std::uint64_t length) {
  std::byte* to = slot.data() + bytes_of(Form::chunks, index);
  std::ranges::copy(digest.bytes, to);
  io::store_le(to + sizeof digest.bytes, static_cast<std::uint32_t>(length));
}

void Probe::put_question(io::Digest& extra, std::uint64_t length, std::uint64_t block_bytes) {
  static_assert(sizeof extra.bytes == kHeadBytes);
  put_head(extra.bytes, Form::blocks, length, block_bytes);
}

io::Result<Probe> Probe::parse_question(const io::Digest& extra) {
  Probe probe;
  const auto taken = probe.take_head(extra.bytes);
  if (!taken) return taken.error();
  if (probe.form_ != Form::blocks) return bad_probe("an unknown question");
  return probe;
}

io::Result<Probe> Probe::parse(std::span<const std::byte> payload) {
  Probe probe;
  probe.payload_ = payload;
  auto taken = probe.take_head(payload);
  if (taken && probe.form_ == Form::chunks) taken = probe.take_chunks();
  if (!taken) return taken.error();
  if (payload.size() != bytes_of(probe.form_, probe.count_)) return bad_probe("a probe of the wrong size");
  return probe;
}

io::Result<void> Probe::take_head(std::span<const std::byte> head) {
  if (head.size() < kHeadBytes) return bad_probe("a probe without a head");
  length_ = io::load_le<std::uint64_t>(head.data() + kLengthAt);
  size_ = io::load_le<std::uint32_t>(head.data() + kSizeAt);
  const auto form = io::load_le<std::uint32_t>(head.data() + kFormAt);
  if (form > static_cast<std::uint32_t>(Form::chunks)) return bad_probe("an unknown probe");
  form_ = static_cast<Form>(form);
  if (length_ == 0 || size_ == 0) return bad_probe("a probe of nothing");
  if (form_ == Form::chunks) return {};
  const std::uint64_t count = (length_ - 1) / size_ + 1;
  if (count > kSpanPiecesMax) return bad_probe("a probe of too many blocks");
  count_ = static_cast<std::size_t>(count);
  return {};
}

io::Result<void> Probe::take_chunks() {
  if (!Chunker::is_average(size_)) return bad_probe("chunks of impossible size");
  count_ = (payload_.size() - kHeadBytes) / kChunkPieceBytes;
  if (count_ > kSpanPiecesMax) return bad_probe("a probe of too many chunks");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (piece_length(i) == 0 || piece_length(i) > size_ * 4) return bad_probe("a chunk of impossible size");
    sum += piece_length(i);
  }
  if (sum != length_) return bad_probe("chunks that are not as long as their span");
  return {};
}

io::Extent Probe::block(std::size_t index) const {
  const std::uint64_t offset = index * size_;
  return {offset, std::min(size_, length_ - offset)};
}

io::Digest Probe::digest(std::size_t index) const {
  io::Digest digest;
  std::memcpy(digest.bytes.data(), payload_.data() + bytes_of(form_, index), digest.bytes.size());
  return digest;
}

std::uint64_t Probe::piece_length(std::size_t index) const {
  if (form_ == Form::blocks) return block(index).length;
  return io::load_le<std::uint32_t>(payload_.data() + bytes_of(form_, index) + sizeof(io::Digest));
}

}  // namespace rdcp::tree
