#include "net/stream/compress.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace rdcp::net {
namespace {

using Clock = std::chrono::steady_clock;

// A smaller payload, if packed, saves less than its unpacking costs.
constexpr std::size_t kPackedMin = 256;
// Packing must save one part in this many.
constexpr std::size_t kUsefulShare = 16;
// If this much of a payload does not shrink, all of it is left alone.
constexpr std::size_t kTrialBytes = 16 << 10;
// A sample consists of pieces of this size from this many places.
constexpr std::size_t kLookPiece = 128;
constexpr std::size_t kLookPieces = 8;
// 1 KiB of noise has about 7.8 bits; packed and encrypted files have the same.
constexpr double kNoiseBits = 7.5;
// After this many tries in vain, 64 payloads that look like noise are skipped until the next try.
constexpr unsigned kInVainMax = 6;
// How much of the speed's estimate one measurement replaces.
constexpr double kNewShare = 0.25;

io::Error no_memory() {
  return io::plain_error(io::ErrorKind::connection, "allocate", "compressor", "there is no memory for it");
}

std::size_t most_useful(std::size_t bytes) {
  return bytes - bytes / kUsefulShare;
}

}  // namespace

double entropy_of(std::span<const std::byte> sample) {
  std::array<std::uint32_t, 256> counts{};
  for (const std::byte b : sample) ++counts[std::to_integer<unsigned>(b)];
  double sum = 0;
  for (const std::uint32_t count : counts) {
    if (count > 1) sum += count * std::log2(static_cast<double>(count));
  }
  const auto size = static_cast<double>(sample.size());
  return sample.empty() ? 0 : std::log2(size) - sum / size;
}

void Compressor::Free::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

io::Result<Compressor> Compressor::create(int level) {
  Compressor made(ZSTD_createCCtx());
  if (!made.context_) return no_memory();
  ZSTD_CCtx_setParameter(made.context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(made.context_.get(), ZSTD_c_contentSizeFlag, 0);
  return made;
}

// zstd gets no more room than would be useful, so that it gives up if packing does not pay.
std::size_t Compressor::try_to_pack(std::span<const std::byte> bytes, std::span<std::byte> room) {
  const std::size_t packed =
      ZSTD_compress2(context_.get(), room.data(), most_useful(bytes.size()), bytes.data(), bytes.size());
  return ZSTD_isError(packed) != 0 ? 0 : packed;
}

// Returns another place each time, because files often have their content at regular places.
std::size_t Compressor::any_place(std::size_t below) {
  random_ = random_ * 1664525 + 1013904223;
  return below == 0 ? 0 : (random_ >> 8) % below;
}

bool Compressor::looks_like_noise(std::span<const std::byte> bytes) {
  const std::size_t stride = bytes.size() / kLookPieces;
  if (stride < kLookPiece) return entropy_of(bytes) > kNoiseBits;
  std::array<std::byte, kLookPiece * kLookPieces> sample;
  for (std::size_t i = 0; i < kLookPieces; ++i) {
    const std::size_t at = i * stride + any_place(stride - kLookPiece);
    std::ranges::copy(bytes.subspan(at, kLookPiece), sample.begin() + i * kLookPiece);
  }
  return entropy_of(sample) > kNoiseBits;
}

// A payload that looks like noise is tried only now and then, unless the last one shrank all the same. A part
// of it is tried first, because it may still contain repetitions.
std::size_t Compressor::pack(std::span<const std::byte> bytes, std::span<std::byte> room) {
  if (bytes.size() < kPackedMin) return 0;
  const bool doubtful = in_vain_ > 0 && looks_like_noise(bytes);
  if (doubtful && to_skip_ > 0) return --to_skip_, 0;
  const bool hopeless =
      doubtful && bytes.size() > 4 * kTrialBytes &&
      try_to_pack(bytes.subspan(any_place(bytes.size() - kTrialBytes), kTrialBytes), room) == 0;
  const std::size_t packed = hopeless ? 0 : timed(bytes, room);
  in_vain_ = packed > 0 ? 0 : std::min(in_vain_ + 1, kInVainMax);
  to_skip_ = packed > 0 ? 0 : 1u << in_vain_;
  return packed;
}

std::size_t Compressor::timed(std::span<const std::byte> bytes, std::span<std::byte> room) {
  const auto before = Clock::now();
  const std::size_t packed = try_to_pack(bytes, room);
  const double seconds = std::chrono::duration<double>(Clock::now() - before).count();
  if (packed > 0 && seconds > 0) {
    bytes_per_second_ += kNewShare * (static_cast<double>(bytes.size()) / seconds - bytes_per_second_);
  }
  return packed;
}

void Decompressor::Free::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

io::Result<Decompressor> Decompressor::create() {
  Decompressor made(ZSTD_createDCtx());
  if (!made.context_) return no_memory();
  return made;
}

bool Decompressor::unpack(std::span<const std::byte> packed, std::span<std::byte> to) {
  const std::size_t bytes =
      ZSTD_decompressDCtx(context_.get(), to.data(), to.size(), packed.data(), packed.size());
  return ZSTD_isError(bytes) == 0 && bytes == to.size();
}

}  // namespace rdcp::net
