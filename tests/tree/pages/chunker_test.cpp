// Content-defined chunks: where they are cut, and what is found again.
#include "tree/pages/chunker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/tree/copy/copy_fixture.h"
#include "tree/session/chunk_index.h"

namespace rdcp::tree {
namespace {

constexpr std::uint64_t kAverage = 8 << 10;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The ends of all chunks, with the bytes handed over in pieces.
std::vector<std::size_t> cuts_of(const std::string& text, std::size_t piece) {
  std::vector<std::size_t> cuts;
  Chunker chunker(kAverage);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t offered = std::min(piece, text.size() - at);
    const std::size_t taken = chunker.take(bytes_of(text).subspan(at, offered));
    EXPECT_TRUE(taken == offered || chunker.ended());
    at += taken;
    if (chunker.ended()) cuts.push_back(at);
  }
  return cuts;
}

TEST(Chunker, LengthsAreWithinBoundsAndAboutTheAverage) {
  const std::string text = test_bytes(4 << 20);
  const std::vector<std::size_t> cuts = cuts_of(text, text.size());
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    EXPECT_GE(end - begin, kAverage / 4);
    EXPECT_LE(end - begin, kAverage * 4);
    begin = end;
  }
  EXPECT_GT(cuts.size(), text.size() / kAverage / 2);
  EXPECT_LT(cuts.size(), text.size() / kAverage * 2);
}

TEST(Chunker, HowTheBytesComeDoesNotMatter) {
  const std::string text = test_bytes(300'000);
  const std::vector<std::size_t> cuts = cuts_of(text, text.size());
  for (const std::size_t piece : {1, 7, 63, 64, 65, 4096, 100'000}) EXPECT_EQ(cuts_of(text, piece), cuts);
}

TEST(Chunker, BytesWithoutContentAreCutAtTheMost) {
  const std::string text(kAverage * 40, '\0');
  const std::vector<std::size_t> cuts = cuts_of(text, 5000);
  std::set<std::size_t> lengths;
  for (std::size_t i = 1; i < cuts.size(); ++i) lengths.insert(cuts[i] - cuts[i - 1]);
  EXPECT_EQ(lengths.size(), 1u);
}

TEST(Chunker, BehindAnInsertionTheCutsAreAsBefore) {
  const std::string text = test_bytes(1 << 20);
  const std::string changed = text.substr(0, 1000) + "inserted" + text.substr(1000);
  const std::vector<std::size_t> before = cuts_of(text, text.size());
  std::vector<std::size_t> after = cuts_of(changed, changed.size());
  for (std::size_t& cut : after) cut -= 8;
  std::vector<std::size_t> both;
  std::ranges::set_intersection(before, after, std::back_inserter(both));
  EXPECT_GE(both.size() + 6, before.size());
}

TEST(Chunker, SizesThatItDoesNotTake) {
  for (const std::uint64_t bad : {0ull, 1ull, 2048ull, 5000ull, 1ull << 29, 1ull << 63}) {
    EXPECT_FALSE(Chunker::is_average(bad)) << bad;
  }
  EXPECT_TRUE(Chunker::is_average(4096));
  EXPECT_TRUE(Chunker::is_average(64 << 10));
}

TEST(ChunkIndex, FindsEachChunkByDigestAndLength) {
  const std::string text = test_bytes(1 << 20);
  ChunkIndex index(kAverage);
  index.add(bytes_of(text).first(400'000));
  index.add(bytes_of(text).subspan(400'000));
  index.finish();
  std::size_t begin = 0;
  for (const std::size_t end : cuts_of(text, text.size())) {
    const io::Digest digest = io::digest_of(bytes_of(text).subspan(begin, end - begin));
    EXPECT_EQ(index.find(digest, end - begin), begin);
    EXPECT_EQ(index.find(digest, end - begin + 1), std::nullopt);
    begin = end;
  }
  EXPECT_EQ(index.find(io::Digest{}, 5), std::nullopt);
}

// As many as there are: finding one of a million equal ones is no search.
TEST(ChunkIndex, EqualChunksAndTooMany) {
  const std::string zeros(1 << 20, '\0');
  ChunkIndex index(Chunker::kAverageMin);
  for (int i = 0; i < 16 && !index.is_full(); ++i) index.add(bytes_of(zeros));
  index.finish();
  EXPECT_EQ(index.find(io::digest_of(bytes_of(zeros).first(16 << 10)), 16 << 10), 0u);
}

}  // namespace
}  // namespace rdcp::tree
