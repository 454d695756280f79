// Compresses payloads with zstd, each by itself, and judges when that pays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace rdcp::net {

// Off, a level of zstd, or automatic: level 1, as long as a stream gets more through with it
// (CompressionController).
using Compression = std::uint8_t;
inline constexpr Compression kCompressOff = 0;
inline constexpr Compression kCompressLevelMax = 19;
inline constexpr Compression kCompressAuto = kCompressLevelMax + 1;
constexpr bool is_compression(Compression value) {
  return value <= kCompressAuto;
}

// For one thread. create() allocates everything except what zstd needs at its first call.
class Compressor {
 public:
  // Error (connection): there is no memory.
  static io::Result<Compressor> create(int level);
  // Packs bytes into room, which is at least as long, and returns their length there. Returns 0 if they
  // should travel as they are, because packing saved too little, or would, judging by a sample and by earlier
  // payloads.
  std::size_t pack(std::span<const std::byte> bytes, std::span<std::byte> room);
  // Returns how fast it has been lately, in unpacked bytes a second; an estimate before anything was packed.
  double bytes_per_second() const { return bytes_per_second_; }

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  explicit Compressor(ZSTD_CCtx_s* context) : context_(context) {}
  std::size_t any_place(std::size_t below);
  bool looks_like_noise(std::span<const std::byte> bytes);
  std::size_t timed(std::span<const std::byte> bytes, std::span<std::byte> room);
  std::size_t try_to_pack(std::span<const std::byte> bytes, std::span<std::byte> room);

  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  double bytes_per_second_ = 400e6;
  unsigned in_vain_ = 1;  // tries since the last one that paid; starts as after a failure
  std::uint32_t random_ = 1;
  unsigned to_skip_ = 0;  // doubtful payloads to skip before the next try
};

class Decompressor {
 public:
  static io::Result<Decompressor> create();
  // Returns false if `packed` does not unpack to exactly as many bytes as `to` has room for. Nothing is ever
  // written beyond `to`.
  bool unpack(std::span<const std::byte> packed, std::span<std::byte> to);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  explicit Decompressor(ZSTD_DCtx_s* context) : context_(context) {}
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

// Returns how many bits each byte of a sample would need if bytes were coded one by one: 8 for noise.
double entropy_of(std::span<const std::byte> sample);

}  // namespace rdcp::net
