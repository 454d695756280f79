#include "tree/streams/frame_ledger.h"

#include <gtest/gtest.h>

#include <string>

#include "tree/streams/target_ledger.h"

namespace rdcp::tree {
namespace {

struct FrameLedgerTest : testing::Test {
  static net::Frame frame_at(std::uint64_t offset) {
    net::Frame frame;
    frame.kind = net::FrameKind::data;
    frame.file_id = 3;
    frame.offset = offset;
    frame.length = 4;
    return frame;
  }
  static net::Sha256 identity(std::uint64_t offset, const std::string& payload = "data") {
    return identity_of(frame_at(offset), std::as_bytes(std::span(payload)));
  }

  SentFrames sent;
  ReceivedFrames received;
};

TEST_F(FrameLedgerTest, WhatBelongsToALinkDoesNotCount) {
  net::Frame other = frame_at(1);
  other.slot = 5;
  other.flags = net::kFlagAgain;
  other.packed = 2;
  other.tag[0] = std::byte{1};
  other.digest.bytes[0] = std::byte{1};
  const std::string payload = "data";
  EXPECT_EQ(identity_of(other, std::as_bytes(std::span(payload))), identity(1));
}

TEST_F(FrameLedgerTest, EverythingElseCounts) {
  const std::string payload = "data";
  const auto changed = [&](auto change) {
    net::Frame frame = frame_at(1);
    change(frame);
    return identity_of(frame, std::as_bytes(std::span(payload)));
  };
  EXPECT_NE(identity(1, "date"), identity(1));
  EXPECT_NE(changed([](net::Frame& frame) { frame.kind = net::FrameKind::probe; }), identity(1));
  EXPECT_NE(changed([](net::Frame& frame) { frame.flags = net::kFlagSparse; }), identity(1));
  EXPECT_NE(changed([](net::Frame& frame) { frame.file_id = 4; }), identity(1));
  EXPECT_NE(changed([](net::Frame& frame) { frame.offset = 2; }), identity(1));
  EXPECT_NE(changed([](net::Frame& frame) { frame.extra.bytes[7] = std::byte{1}; }), identity(1));
}

TEST_F(FrameLedgerTest, WhoGotAllAgrees) {
  for (const std::uint64_t offset : {1u, 2u, 3u}) sent.send(identity(offset));
  for (const std::uint64_t offset : {3u, 1u, 2u}) {
    received.add(identity(offset));
    sent.settle(identity(offset));
  }
  EXPECT_TRUE(agree(sent.tell(), received.tell()));
  EXPECT_FALSE(agree(sent.tell(), ReceivedFrames().tell()));
  received.add(identity(4));
  EXPECT_FALSE(agree(sent.tell(), received.tell()));
}

TEST_F(FrameLedgerTest, OfWhatIsUnderWayATargetMayHaveAnything) {
  for (const std::uint64_t offset : {1u, 2u, 3u}) sent.send(identity(offset));
  sent.settle(identity(2));
  EXPECT_FALSE(agree(sent.tell(), received.tell()));
  received.add(identity(2));
  EXPECT_TRUE(agree(sent.tell(), received.tell()));
  received.add(identity(3));
  EXPECT_TRUE(agree(sent.tell(), received.tell()));
  received.add(identity(1, "date"));
  EXPECT_FALSE(agree(sent.tell(), received.tell()));
}

TEST_F(FrameLedgerTest, WhatCameDamagedToTheFirstTargetIsWithNobody) {
  sent.send(identity(1));
  sent.take_back(identity(1));
  EXPECT_TRUE(agree(sent.tell(), received.tell()));
  received.add(identity(1));
  EXPECT_FALSE(agree(sent.tell(), received.tell()));
}

TEST(TargetLedger, ASourceThatOnlyAsksDoesNotFillTheMemory) {
  TargetLedger ledger;
  for (std::size_t i = 0; i < TargetLedger::kMissingMax; ++i)
    ASSERT_TRUE(ledger.entries.add(std::to_string(i)));
  EXPECT_FALSE(ledger.entries.add("one more"));
  EXPECT_EQ(ledger.tell().missing, TargetLedger::kMissingMax);
  ledger.entries.remove("0");
  EXPECT_EQ(ledger.tell().missing, TargetLedger::kMissingMax - 1);
}

}  // namespace
}  // namespace rdcp::tree
