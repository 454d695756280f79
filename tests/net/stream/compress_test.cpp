#include "net/stream/compress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rdcp::net {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kChunk = 256 << 10;

Bytes text(std::size_t length) {
  std::mt19937 random(1);
  Bytes bytes(length);
  for (std::byte& b : bytes) b = static_cast<std::byte>("etaoin shrdlu\n"[random() % 14]);
  return bytes;
}

Bytes noise(std::size_t length, unsigned seed = 2) {
  std::mt19937 random(seed);
  Bytes bytes(length);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// How long it becomes, and that it comes back as it was.
std::size_t packed_bytes(Compressor& compressor, const Bytes& bytes) {
  Bytes room(bytes.size());
  const std::size_t packed = compressor.pack(bytes, room);
  if (packed == 0) return 0;
  Bytes back(bytes.size());
  EXPECT_TRUE(Decompressor::create().value().unpack(std::span(room).first(packed), back));
  EXPECT_EQ(back, bytes);
  return packed;
}

TEST(Compress, EveryLevelComesBackAsItWas) {
  for (int level = 1; level <= kCompressLevelMax; ++level) {
    Compressor compressor = Compressor::create(level).value();
    const std::size_t packed = packed_bytes(compressor, text(20'000));
    EXPECT_GT(packed, 0u) << level;
    EXPECT_LT(packed, 12'000u) << level;
  }
}

TEST(Compress, ATooSmallGainIsNone) {
  Compressor compressor = Compressor::create(1).value();
  Bytes mixed = noise(kChunk);
  std::ranges::fill(std::span(mixed).first(kChunk / 32), std::byte{0});  // saves 3 %
  EXPECT_EQ(packed_bytes(compressor, mixed), 0u);
  std::ranges::fill(std::span(mixed).first(kChunk / 4), std::byte{0});
  EXPECT_GT(packed_bytes(compressor, mixed), 0u);
}

TEST(Compress, ShortPayloadsAreLeftAlone) {
  Compressor compressor = Compressor::create(1).value();
  EXPECT_EQ(packed_bytes(compressor, text(100)), 0u);
  EXPECT_EQ(packed_bytes(compressor, Bytes()), 0u);
}

TEST(Compress, WhatCanShrinkBehindNoiseIsNoticedAtOnce) {
  Compressor compressor = Compressor::create(1).value();
  for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(packed_bytes(compressor, noise(kChunk, i)), 0u);
  EXPECT_GT(packed_bytes(compressor, text(kChunk)), 0u);
}

// A file system's blocks, of which every other one is noise.
TEST(Compress, NoiseAtRegularPlacesDoesNotHideTheRest) {
  Compressor compressor = Compressor::create(1).value();
  Bytes stripes = noise(kChunk);
  const Bytes words = text(kChunk);
  for (std::size_t at = 0; at < kChunk; ++at) {
    if (at / 32768 % 2 == 1) stripes[at] = words[at];
  }
  unsigned packed = 0;
  for (int i = 0; i < 100; ++i) packed += packed_bytes(compressor, stripes) > 0 ? 1 : 0;
  EXPECT_GT(packed, 95u);
}

// Blocks of noise that repeat look like noise byte for byte.
TEST(Compress, WhatLooksLikeNoiseIsTriedNowAndThen) {
  Compressor compressor = Compressor::create(1).value();
  for (unsigned i = 0; i < 50; ++i) packed_bytes(compressor, noise(kChunk, i));
  const Bytes block = noise(4096);
  Bytes repeated;
  while (repeated.size() < kChunk) repeated.insert(repeated.end(), block.begin(), block.end());
  unsigned left_alone = 0;
  while (packed_bytes(compressor, repeated) == 0) ASSERT_LT(++left_alone, 65u);
  EXPECT_GT(packed_bytes(compressor, repeated), 0u);  // and from then on each
}

TEST(Compress, EntropyTellsTextFromNoise) {
  EXPECT_EQ(entropy_of({}), 0);
  EXPECT_EQ(entropy_of(Bytes(1024)), 0);
  EXPECT_NEAR(entropy_of(text(4096)), 3.8, 0.1);
  EXPECT_GT(entropy_of(noise(1024)), 7.7);
}

// What a peer claims of lengths: nothing is written beyond the room, and only the exact length counts.
TEST(Compress, OnlyTheExactLengthUnpacks) {
  Compressor compressor = Compressor::create(1).value();
  const Bytes bytes = text(10'000);
  Bytes room(bytes.size());
  const std::size_t packed = compressor.pack(bytes, room);
  Decompressor decompressor = Decompressor::create().value();
  for (const std::size_t claimed : {std::size_t{0}, std::size_t{1}, bytes.size() - 1, bytes.size() + 1}) {
    Bytes guarded(claimed + 64, std::byte{0xee});
    EXPECT_FALSE(decompressor.unpack(std::span(room).first(packed), std::span(guarded).first(claimed)));
    EXPECT_TRUE(std::ranges::all_of(std::span(guarded).subspan(claimed),
                                    [](std::byte b) { return b == std::byte{0xee}; }));
  }
  for (std::size_t cut = 0; cut < packed; cut += 97) {
    Bytes to(bytes.size());
    EXPECT_FALSE(decompressor.unpack(std::span(room).first(cut), to)) << cut;
  }
}

}  // namespace
}  // namespace rdcp::net
