#include "io/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace rdcp::io {
namespace {

TEST(Bytes, NumbersAreLittleEndian) {
  std::array<std::byte, 15> bytes{};
  ByteWriter to(bytes);
  to.number(std::uint8_t{0x01});
  to.number(std::uint16_t{0x0302});
  to.number(std::uint32_t{0x07060504});
  to.number(std::uint64_t{0x0f0e0d0c0b0a0908});
  ASSERT_EQ(to.used(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(i + 1));
  ByteReader from(bytes);
  EXPECT_EQ(from.number<std::uint8_t>(), 0x01);
  EXPECT_EQ(from.number<std::uint16_t>(), 0x0302);
  EXPECT_EQ(from.number<std::uint32_t>(), 0x07060504u);
  EXPECT_EQ(from.number<std::uint64_t>(), 0x0f0e0d0c0b0a0908u);
  EXPECT_TRUE(from.at_end());
  EXPECT_FALSE(from.cut());
}

TEST(Bytes, WhatDoesNotFitIsNotWrittenNorWhatFollows) {
  std::array<std::byte, 8> bytes;
  bytes.fill(std::byte{0xee});
  ByteWriter to(std::span<std::byte>(bytes).first(5));
  to.text("abc");
  const ByteWriter before = to;
  to.number(std::uint32_t{0});
  EXPECT_TRUE(to.full());
  to.number(std::uint8_t{0});
  to.text("x");
  to.digest({});
  EXPECT_EQ(to.used(), 3u);
  for (std::size_t i = 3; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], std::byte{0xee}) << i;
  to = before;
  to.text("de");
  EXPECT_FALSE(to.full());
  to.text("");
  EXPECT_FALSE(to.full()) << "nothing fits everywhere";
}

TEST(Bytes, NothingIsReadBehindTheEndNorAfterIt) {
  const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  ByteReader from(bytes);
  EXPECT_EQ(from.number<std::uint8_t>(), 1);
  EXPECT_EQ(from.number<std::uint32_t>(), 0u);
  EXPECT_TRUE(from.cut());
  EXPECT_EQ(from.number<std::uint8_t>(), 0) << "it is there, but not in its place";
  EXPECT_EQ(from.text(1), "");
  EXPECT_EQ(from.digest(), Digest{});
  ByteReader huge(bytes);
  EXPECT_EQ(huge.text(static_cast<std::size_t>(-1)), "");
  EXPECT_TRUE(huge.cut());
}

}  // namespace
}  // namespace rdcp::io
