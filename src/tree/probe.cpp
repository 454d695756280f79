#include "tree/probe.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "net/little_endian.h"

namespace rdcp::tree {

namespace {

constexpr std::size_t kLengthAt = 0;
constexpr std::size_t kBlockBytesAt = 8;
constexpr std::size_t kFormAt = 12;
constexpr std::uint32_t kBlocks = 0;  // the only form yet
constexpr std::uint64_t kSlotBytesMin = 16 << 10;

static_assert(Probe::kHeadBytes + kSpanBlocksMax * sizeof(io::Digest) <= kProbeBytesMax);

io::Error bad_probe(std::string_view what) {
  return io::plain_error(io::ErrorKind::protocol, "receive from", "the source", what);
}

}  // namespace

// So that several blocks are read at once.
std::uint64_t block_bytes_for(std::uint64_t slot_bytes) {
  if (slot_bytes < kSlotBytesMin) return 0;
  return std::min(kBlockBytesMax, std::bit_floor((slot_bytes - kProbeBytesMax) / 2));
}

void Probe::put_head(std::span<std::byte> slot, std::uint64_t length, std::uint64_t block_bytes) {
  net::store_le(slot.data() + kLengthAt, length);
  net::store_le(slot.data() + kBlockBytesAt, static_cast<std::uint32_t>(block_bytes));
  net::store_le(slot.data() + kFormAt, kBlocks);
}

void Probe::put_digest(std::span<std::byte> slot, std::size_t index, const io::Digest& digest) {
  std::memcpy(slot.data() + bytes_of(index), digest.bytes.data(), digest.bytes.size());
}

io::Digest Probe::digest_in(std::span<const std::byte> slot, std::size_t index) {
  io::Digest digest;
  std::memcpy(digest.bytes.data(), slot.data() + bytes_of(index), digest.bytes.size());
  return digest;
}

void Probe::put_question(io::Digest& extra, std::uint64_t length, std::uint64_t block_bytes) {
  static_assert(sizeof extra.bytes == kHeadBytes);
  put_head(extra.bytes, length, block_bytes);
}

io::Result<Probe> Probe::parse_question(const io::Digest& extra) {
  Probe probe;
  const auto taken = probe.take_head(extra.bytes);
  if (!taken) return taken.error();
  return probe;
}

io::Result<void> Probe::take_head(std::span<const std::byte> head) {
  if (head.size() < kHeadBytes) return bad_probe("a probe without a head");
  length_ = net::load_le<std::uint64_t>(head.data() + kLengthAt);
  block_bytes_ = net::load_le<std::uint32_t>(head.data() + kBlockBytesAt);
  if (net::load_le<std::uint32_t>(head.data() + kFormAt) != kBlocks) return bad_probe("an unknown probe");
  if (length_ == 0 || block_bytes_ == 0) return bad_probe("a probe of nothing");
  const std::uint64_t count = (length_ - 1) / block_bytes_ + 1;
  if (count > kSpanBlocksMax) return bad_probe("a probe of too many blocks");
  count_ = static_cast<std::size_t>(count);
  return {};
}

io::Result<Probe> Probe::parse(std::span<const std::byte> payload) {
  Probe probe;
  probe.payload_ = payload;
  const auto taken = probe.take_head(payload);
  if (!taken) return taken.error();
  if (payload.size() != bytes_of(probe.count_))
    return bad_probe("a probe whose digests do not fit its blocks");
  return probe;
}

io::Extent Probe::block(std::size_t index) const {
  const std::uint64_t offset = index * block_bytes_;
  return {offset, std::min(block_bytes_, length_ - offset)};
}

}  // namespace rdcp::tree
