#include "tree/session/reply_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace rdcp::tree {
namespace {

using net::AckStatus;
using net::FrameKind;

net::Frame frame(FrameKind kind, std::uint64_t file_id = 1, std::uint64_t offset = 0) {
  net::Frame frame;
  frame.kind = kind;
  frame.file_id = file_id;
  frame.offset = offset;
  return frame;
}

void keep(ReplyCache& cache, const net::Frame& frame, AckStatus status = AckStatus::done) {
  const std::vector<std::optional<CachedReply>> slots{std::nullopt, CachedReply{frame, status, {}}};
  cache.keep(slots);
}

TEST(ReplyCache, AReplyIsGivenOnce) {
  ReplyCache cache;
  keep(cache, frame(FrameKind::commit), AckStatus::refused);
  const auto reply = cache.take(frame(FrameKind::commit));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, AckStatus::refused);
  EXPECT_FALSE(cache.take(frame(FrameKind::commit)));
}

TEST(ReplyCache, DataIsKnownByFileAndOffset) {
  ReplyCache cache;
  keep(cache, frame(FrameKind::data, 1, 4096));
  EXPECT_FALSE(cache.take(frame(FrameKind::data, 1, 8192)));
  EXPECT_FALSE(cache.take(frame(FrameKind::data, 2, 4096)));
  EXPECT_FALSE(cache.take(frame(FrameKind::commit, 1, 4096)));
  EXPECT_TRUE(cache.take(frame(FrameKind::data, 1, 4096)));
}

TEST(ReplyCache, PagesAreKnownByTheirDigest) {
  ReplyCache cache;
  net::Frame page = frame(FrameKind::compare);
  page.digest.bytes[0] = std::byte{1};
  keep(cache, page);
  net::Frame other = page;
  other.digest.bytes[0] = std::byte{2};
  EXPECT_FALSE(cache.take(other));
  EXPECT_TRUE(cache.take(page));
}

TEST(ReplyCache, ProbesAreKnownByPlaceAndDigest) {
  ReplyCache cache;
  net::Frame probe = frame(FrameKind::probe, 1, 0);
  probe.digest.bytes[0] = std::byte{1};
  keep(cache, probe);
  net::Frame elsewhere = probe;
  elsewhere.offset = 1 << 20;
  EXPECT_FALSE(cache.take(elsewhere));
  net::Frame other = probe;
  other.digest.bytes[0] = std::byte{2};
  EXPECT_FALSE(cache.take(other));
  EXPECT_TRUE(cache.take(probe));
}

// To unpack an archive twice does no harm, so its reply is not kept.
TEST(ReplyCache, ArchivesAreNotKept) {
  ReplyCache cache;
  keep(cache, frame(FrameKind::archive));
  EXPECT_FALSE(cache.take(frame(FrameKind::archive)));
}

TEST(ReplyCache, RepliesOfSeveralStreamsAreKept) {
  ReplyCache cache;
  for (std::uint64_t offset = 0; offset < 10; ++offset) keep(cache, frame(FrameKind::data, 1, offset * 4096));
  for (std::uint64_t offset = 10; offset-- > 0;) {
    EXPECT_TRUE(cache.take(frame(FrameKind::data, 1, offset * 4096))) << offset;
  }
}

}  // namespace
}  // namespace rdcp::tree
