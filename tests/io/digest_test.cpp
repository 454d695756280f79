#include "io/digest.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <string_view>

#include "io/arena.h"
#include "tests/io/temp_file.h"

namespace rdcp::io {
namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest.bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

// By the header's own code, compiled here without dispatch.
Digest reference_digest(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Digest digest;
  std::memcpy(digest.bytes.data(), canonical.digest, digest.bytes.size());
  return digest;
}

Digest digest_of_text(std::string_view text) {
  return digest_of(std::as_bytes(std::span(text)));
}

TEST(Digest, IsWhatXxh128sumPrints) {
  EXPECT_EQ(hex(digest_of_text("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hex(digest_of_text("The quick brown fox jumps over the lazy dog\n")),
            "b446503c245d3744b98f7cbcf9e748ff");
}

TEST(Digest, IsTheLibrarysForEveryKindOfLength) {
  const std::vector<std::byte> bytes = test_bytes(1 << 20);
  for (const std::size_t length : {1, 16, 128, 240, 241, 1023, 1024, 1025, 4096, 65537, 1 << 20}) {
    const std::span<const std::byte> part = std::span(bytes).first(length);
    EXPECT_EQ(digest_of(part), reference_digest(part)) << length;
    EXPECT_EQ(check_of(part), XXH3_64bits(part.data(), part.size())) << length;
  }
}

// Vector code that reads past the end dies here.
TEST(Digest, ReadsNothingPastTheEnd) {
  void* mapped = ::mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* page = static_cast<std::byte*>(mapped);
  ASSERT_EQ(::mprotect(page + kPageBytes, kPageBytes, PROT_NONE), 0);
  const std::vector<std::byte> bytes = test_bytes(kPageBytes);
  std::memcpy(page, bytes.data(), bytes.size());
  for (std::size_t length = 0; length <= kPageBytes; length += length < 512 ? 1 : 64) {
    const std::span<const std::byte> at_page_end(page + kPageBytes - length, length);
    EXPECT_EQ(digest_of(at_page_end), reference_digest(std::span(bytes).last(length))) << length;
    EXPECT_EQ(check_of(at_page_end), XXH3_64bits(at_page_end.data(), length)) << length;
  }
  ::munmap(mapped, 2 * kPageBytes);
}

struct Chunk {
  std::uint64_t offset;
  std::uint64_t length;
  Digest digest;
};

Digest file_digest(std::initializer_list<Chunk> chunks) {
  FileDigest digest;
  for (const Chunk& chunk : chunks) digest.add(chunk.offset, chunk.length, chunk.digest);
  return digest.value();
}

const Digest kA = digest_of_text("a");
const Digest kB = digest_of_text("b");

TEST(FileDigest, DoesNotDependOnTheOrderOfAdding) {
  EXPECT_EQ(file_digest({{0, 10, kA}, {10, 10, kB}}), file_digest({{10, 10, kB}, {0, 10, kA}}));
}

TEST(FileDigest, SeesSwappedChunks) {
  EXPECT_NE(file_digest({{0, 10, kA}, {10, 10, kB}}), file_digest({{0, 10, kB}, {10, 10, kA}}));
}

TEST(FileDigest, SeesAMovedAndARecutChunk) {
  EXPECT_NE(file_digest({{0, 10, kA}}), file_digest({{10, 10, kA}}));
  EXPECT_NE(file_digest({{0, 10, kA}}), file_digest({{0, 11, kA}}));
}

TEST(FileDigest, RepeatedChunksDoNotCancelOut) {
  EXPECT_NE(file_digest({{0, 10, kA}, {0, 10, kA}}), file_digest({}));
  EXPECT_NE(file_digest({{0, 10, kA}, {0, 10, kA}}), file_digest({{0, 10, kA}}));
}

// The digest is part of the wire format and of stored lists, so it must not change.
TEST(FileDigest, IsTheSumOfBigEndianRecords) {
  EXPECT_EQ(hex(file_digest({})), std::string(32, '0'));
  EXPECT_EQ(hex(file_digest({{0, 10, kA}, {10, 10, kB}})), "3766149adf160a6b1cc354a2fa51ec91");
}

TEST(RunningDigest, OfPiecesIsThatOfTheWhole) {
  std::vector<std::byte> bytes(100'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 256);
  RunningDigest digest;
  EXPECT_EQ(digest.finish(), digest_of({}));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{255}, std::size_t{1024}, bytes.size()}) {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      digest.add(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    }
    EXPECT_EQ(digest.finish(), digest_of(bytes)) << piece;
  }
}

}  // namespace
}  // namespace rdcp::io
