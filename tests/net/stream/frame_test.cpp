#include "net/stream/frame.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "tests/net/stream/raw_frame.h"

namespace rdcp::net {
namespace {

io::Digest digest_with(unsigned char first) {
  io::Digest digest;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) digest.bytes[i] = static_cast<std::byte>(first + i);
  return digest;
}

// One frame of each kind with every field that the kind uses.
std::vector<Frame> full_frames() {
  const io::Digest digest = digest_with(1);
  const io::Digest extra = digest_with(101);
  return {
      {.kind = FrameKind::archive, .slot = 7, .length = 5, .digest = digest},
      {.kind = FrameKind::open,
       .flags = kFlagSparse,
       .slot = 1,
       .length = 300,
       .file_id = 9,
       .offset = 1u << 31,
       .digest = digest,
       .extra = extra},
      {.kind = FrameKind::data,
       .slot = ~0u,
       .length = ~0u,
       .file_id = ~0ull,
       .offset = 1ull << 62,
       .digest = digest},
      {.kind = FrameKind::commit,
       .slot = 2,
       .length = 1,
       .file_id = 3,
       .offset = 4,
       .digest = digest,
       .extra = extra},
      {.kind = FrameKind::copy_range, .slot = 2, .file_id = 3, .offset = 4, .extra = extra},
      {.kind = FrameKind::abandon, .slot = 2, .file_id = 3},
      {.kind = FrameKind::data,
       .flags = kFlagAgain,
       .slot = 1,
       .length = 2,
       .file_id = 3,
       .offset = 4,
       .digest = digest},
      {.kind = FrameKind::data,
       .slot = 1,
       .length = 1000,
       .file_id = 3,
       .offset = 4,
       .digest = digest,
       .packed = 999,
       .tag = {std::byte{1}, std::byte{2}}},
      {.kind = FrameKind::lost, .slot = 2, .offset = 0xffff},
      {.kind = FrameKind::compare, .slot = 2, .length = 7, .file_id = 3, .offset = 2, .digest = digest},
      {.kind = FrameKind::names,
       .flags = kFlagAgain,
       .slot = 2,
       .length = 7,
       .file_id = 3,
       .offset = 2,
       .digest = digest},
      {.kind = FrameKind::probe, .slot = 2, .length = 16, .file_id = 3, .offset = 4096, .digest = digest},
      {.kind = FrameKind::ask, .slot = 2, .file_id = 3, .offset = 4096, .extra = extra},
      {.kind = FrameKind::end},
      {.kind = FrameKind::end, .flags = kFlagCutShort},
      {.kind = FrameKind::credit, .status = AckStatus::unsupported, .slot = 11},
      {.kind = FrameKind::credit, .status = AckStatus::in_turn, .slot = 11},
      {.kind = FrameKind::credit, .status = AckStatus::has_part, .slot = 11},
  };
}

TEST(Frame, ComesBackAsItWasEncoded) {
  for (const Frame& frame : full_frames()) {
    const auto decoded = decode(encode(frame));
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, frame);
  }
}

TEST(Frame, VerdictsComeBackWithACreditThatIsDone) {
  Verdicts verdicts;
  for (std::size_t i = 0; i < Verdicts::kCount; ++i) verdicts.set(i, static_cast<std::uint8_t>(i % 3 + 1));
  Frame frame{.kind = FrameKind::credit, .status = AckStatus::done, .slot = 11};
  frame.set_verdicts(verdicts);
  const auto decoded = decode(encode(frame));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, frame);
  for (std::size_t i = 0; i < Verdicts::kCount; ++i) EXPECT_EQ(decoded->verdicts().at(i), i % 3 + 1) << i;
}

// Each answer that a target has for a kind of frame, and no other one.
TEST(Frame, AnAnswerFitsWhatWasSent) {
  using enum AckStatus;
  const std::set<AckStatus> any = {done, refused};
  const std::set<AckStatus> payload = {done, refused, bad_digest};
  const std::set<AckStatus> opening = {done, refused, bad_digest, in_turn, has_basis, has_like, has_part};
  std::set<AckStatus> flagged = opening;
  flagged.insert(unsupported);
  struct Case {
    FrameKind kind;
    std::uint8_t flags;
    std::set<AckStatus> answers;
    bool verdicts;
  };
  const std::vector<Case> cases = {
      {FrameKind::archive, 0, payload, false},
      {FrameKind::open, 0, opening, false},
      {FrameKind::open, kFlagAgain, opening, false},
      {FrameKind::open, kFlagSparse, flagged, false},
      {FrameKind::open, kFlagCompare, flagged, false},
      {FrameKind::data, 0, payload, false},
      {FrameKind::commit, 0, payload, false},
      {FrameKind::copy_range, 0, {done, refused, unsupported}, false},
      {FrameKind::abandon, 0, any, false},
      {FrameKind::lost, 0, any, false},
      {FrameKind::compare, 0, payload, true},
      {FrameKind::names, 0, payload, true},
      {FrameKind::probe, 0, payload, true},
      {FrameKind::ask, 0, any, true},
  };
  for (const Case& expected : cases) {
    for (std::uint8_t status = 1; status <= 9; ++status) {
      Frame credit{.kind = FrameKind::credit, .status = static_cast<AckStatus>(status), .slot = 1};
      EXPECT_EQ(may_answer(expected.kind, expected.flags, credit), expected.answers.contains(credit.status))
          << static_cast<int>(expected.kind) << " answered with " << static_cast<int>(status);
    }
    Frame credit{.kind = FrameKind::credit, .status = done, .slot = 1};
    Verdicts verdicts;
    verdicts.set(0, 1);
    credit.set_verdicts(verdicts);
    EXPECT_EQ(may_answer(expected.kind, expected.flags, credit), expected.verdicts)
        << static_cast<int>(expected.kind) << " answered with verdicts";
  }
}

TEST(Frame, EveryStatusComesBack) {
  for (std::uint8_t status = 1; status <= 9; ++status) {
    const Frame frame{.kind = FrameKind::credit, .status = static_cast<AckStatus>(status), .slot = 1};
    const auto decoded = decode(encode(frame));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, frame);
  }
}

TEST(Frame, StandsOnTheWireAsDocumented) {
  const FrameBytes bytes = encode({.kind = FrameKind::data,
                                   .slot = 0x04030201,
                                   .length = 0x08070605,
                                   .file_id = 0x1817161514131211,
                                   .offset = 0x2827262524232221,
                                   .digest = digest_with(0x31)});
  FrameBytes expected{};
  const auto put = [&expected](std::size_t at, std::initializer_list<int> values) {
    for (int value : values) expected[at++] = static_cast<std::byte>(value);
  };
  put(0, {'R', 'D', 'F', 'R', 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8});
  put(16, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28});
  for (int i = 0; i < 16; ++i) put(32 + i, {0x31 + i});
  reseal(expected);
  EXPECT_EQ(bytes, expected);
}

TEST(Frame, RefusesEverySingleFlippedBit) {
  for (const Frame& frame : full_frames()) {
    const FrameBytes good = encode(frame);
    for (std::size_t bit = 0; bit < 8 * kFrameBytes; ++bit) {
      FrameBytes bad = good;
      bad[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto decoded = decode(bad);
      ASSERT_FALSE(decoded) << "kind " << int(frame.kind) << " bit " << bit;
      EXPECT_EQ(decoded.error().kind, io::ErrorKind::protocol);
    }
  }
}

// The combinations below have a right check, as a hostile peer would make them.
struct Forbidden {
  const char* name;
  FrameKind kind;
  std::size_t at;  // this byte is set to 1
};

class ForbiddenField : public testing::TestWithParam<Forbidden> {};

TEST_P(ForbiddenField, IsRefused) {
  const Forbidden& forbidden = GetParam();
  for (const Frame& frame : full_frames()) {
    if (frame.kind != forbidden.kind) continue;
    FrameBytes bytes = encode(frame);
    bytes[forbidden.at] = std::byte{1};
    reseal(bytes);
    EXPECT_FALSE(decode(bytes));
  }
}

constexpr std::size_t kFlags = 5, kStatus = 6, kZero = 7, kSlot = 8, kLength = 12, kFile = 16, kOffset = 24,
                      kDigest = 32, kExtra = 48, kPacked = 64, kReserved = 68, kReservedEnd = 71, kTag = 72,
                      kTagEnd = 87;

INSTANTIATE_TEST_SUITE_P(
    , ForbiddenField,
    testing::Values(
        Forbidden{"FlagsOnArchive", FrameKind::archive, kFlags},
        Forbidden{"FlagsOnData", FrameKind::data, kFlags},
        Forbidden{"FlagsOnCommit", FrameKind::commit, kFlags},
        Forbidden{"FlagsOnCopyRange", FrameKind::copy_range, kFlags},
        Forbidden{"FlagsOnAbandon", FrameKind::abandon, kFlags},
        Forbidden{"FlagsOnLost", FrameKind::lost, kFlags},
        Forbidden{"LengthOnLost", FrameKind::lost, kLength}, Forbidden{"FileOnLost", FrameKind::lost, kFile},
        Forbidden{"DigestOnLost", FrameKind::lost, kDigest},
        Forbidden{"ExtraOnLost", FrameKind::lost, kExtra}, Forbidden{"FlagsOnEnd", FrameKind::end, kFlags},
        Forbidden{"FlagsOnCredit", FrameKind::credit, kFlags},
        Forbidden{"StatusOnData", FrameKind::data, kStatus},
        Forbidden{"StatusOnEnd", FrameKind::end, kStatus}, Forbidden{"ZeroByte", FrameKind::data, kZero},
        Forbidden{"ReservedFirst", FrameKind::data, kReserved},
        Forbidden{"ReservedLast", FrameKind::end, kReservedEnd},
        Forbidden{"PackedOnEnd", FrameKind::end, kPacked},
        Forbidden{"PackedOnLost", FrameKind::lost, kPacked},
        Forbidden{"PackedOnCredit", FrameKind::credit, kPacked}, Forbidden{"TagOnEnd", FrameKind::end, kTag},
        Forbidden{"TagOnCredit", FrameKind::credit, kTagEnd},
        Forbidden{"TagOnCopyRange", FrameKind::copy_range, kTag},
        Forbidden{"SlotOnEnd", FrameKind::end, kSlot}, Forbidden{"LengthOnEnd", FrameKind::end, kLength},
        Forbidden{"LengthOnCredit", FrameKind::credit, kLength},
        Forbidden{"LengthOnCopyRange", FrameKind::copy_range, kLength},
        Forbidden{"LengthOnAbandon", FrameKind::abandon, kLength},
        Forbidden{"FileOnArchive", FrameKind::archive, kFile}, Forbidden{"FileOnEnd", FrameKind::end, kFile},
        Forbidden{"FileOnCredit", FrameKind::credit, kFile},
        Forbidden{"OffsetOnArchive", FrameKind::archive, kOffset},
        Forbidden{"OffsetOnAbandon", FrameKind::abandon, kOffset},
        Forbidden{"OffsetOnCredit", FrameKind::credit, kOffset},
        Forbidden{"OffsetOnEnd", FrameKind::end, kOffset},
        Forbidden{"DigestOnCopyRange", FrameKind::copy_range, kDigest},
        Forbidden{"DigestOnAbandon", FrameKind::abandon, kDigest},
        Forbidden{"DigestOnCredit", FrameKind::credit, kDigest},
        Forbidden{"DigestOnEnd", FrameKind::end, kDigest},
        Forbidden{"ExtraOnArchive", FrameKind::archive, kExtra},
        Forbidden{"ExtraOnData", FrameKind::data, kExtra},
        Forbidden{"ExtraOnAbandon", FrameKind::abandon, kExtra},
        Forbidden{"ExtraOnCredit", FrameKind::credit, kExtra},
        Forbidden{"ExtraOnEnd", FrameKind::end, kExtra}),
    [](const auto& test) { return test.param.name; });

TEST(Frame, RefusesAPackedLengthThatIsNoGain) {
  Frame frame{.kind = FrameKind::archive, .slot = 7, .length = 500, .digest = digest_with(1), .packed = 499};
  FrameBytes bytes = encode(frame);
  EXPECT_TRUE(decode(bytes));
  ++reinterpret_cast<unsigned char&>(bytes[kPacked]);
  reseal(bytes);
  EXPECT_FALSE(decode(bytes));
}

TEST(Frame, RefusesPayloadKindsWithoutPayload) {
  for (const Frame& frame : full_frames()) {
    if (!has_payload(frame.kind)) continue;
    FrameBytes bytes = encode(frame);
    for (std::size_t i = 0; i < 4; ++i) bytes[kLength + i] = std::byte{0};
    reseal(bytes);
    EXPECT_FALSE(decode(bytes)) << int(frame.kind);
  }
}

TEST(Frame, RefusesUndefinedFlagsKindsAndStatuses) {
  const auto with = [](Frame frame, std::size_t at, unsigned value) {
    FrameBytes bytes = encode(frame);
    bytes[at] = static_cast<std::byte>(value);
    reseal(bytes);
    return decode(bytes).ok();
  };
  const Frame open{.kind = FrameKind::open, .length = 1};
  const Frame credit{.kind = FrameKind::credit};
  const Frame data{.kind = FrameKind::data, .length = 1};
  for (unsigned value = 0; value < 256; ++value) {
    EXPECT_EQ(with(open, kFlags, value), value <= (kFlagSparse | kFlagAgain | kFlagCompare)) << value;
    EXPECT_EQ(with(data, kFlags, value), value == 0 || value == kFlagAgain) << value;
    EXPECT_EQ(with(credit, kFlags, value), value == 0) << value;
  }
  for (unsigned value : {0u, 14u, 255u}) EXPECT_FALSE(with(open, 4, value)) << value;
  for (unsigned value : {0u, 10u, 255u}) EXPECT_FALSE(with(credit, kStatus, value)) << value;
}

TEST(Frame, OffsetsReachTheLastByteOfTheLargestFileAndNoFurther) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Frame last{.kind = FrameKind::data, .length = 10, .offset = kMax - 10};
  EXPECT_TRUE(decode(encode(last)));
  for (std::uint64_t offset : {kMax - 9, kMax, kMax + 1, ~std::uint64_t{0}}) {
    FrameBytes bytes = encode(last);
    for (std::size_t i = 0; i < 8; ++i) bytes[kOffset + i] = static_cast<std::byte>(offset >> (8 * i));
    reseal(bytes);
    EXPECT_FALSE(decode(bytes)) << offset;
  }
}

TEST(Frame, ALostStreamHasAnIndexThatAStreamCanHave) {
  FrameBytes bytes = encode({.kind = FrameKind::lost, .offset = 0xffff});
  EXPECT_TRUE(decode(bytes));
  bytes[kOffset + 2] = std::byte{1};
  reseal(bytes);
  EXPECT_FALSE(decode(bytes));
}

}  // namespace
}  // namespace rdcp::net
