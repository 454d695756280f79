#include "net/stream/record_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "io/digest.h"
#include "tests/net/crypto/seal_fixture.h"

namespace rdcp::net {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kSlotBytes = 4096;

RecordLayer record_layer(bool source, bool seals, Compression compression) {
  const std::optional<SealKeys> keys =
      seals ? std::optional(test_keys(Cipher::aes_256_gcm, source)) : std::nullopt;
  return RecordLayer::create(keys, compression, source).value();
}

Frame frame_of(const Bytes& payload) {
  Frame frame;
  frame.kind = FrameKind::data;
  frame.slot = 2;
  frame.length = static_cast<std::uint32_t>(payload.size());
  frame.file_id = 7;
  frame.offset = 4096;
  frame.digest = io::digest_of(payload);
  return frame;
}

Bytes copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

// A chunk as it goes over the wire.
struct Sent {
  Bytes message;
  Bytes payload;
};
Sent send(RecordLayer& from, Bytes payload) {
  Frame frame = frame_of(payload);
  Bytes room(payload.size());
  const Bytes before = payload;
  std::span<const std::byte> travels(payload);
  const auto message = from.wrap(frame, travels, room, true);
  EXPECT_TRUE(message);
  EXPECT_EQ(payload, before);
  return {copy_of(message->bytes()), copy_of(travels)};
}

struct Received {
  std::optional<io::Error> error;
  Bytes payload;
};
Received receive(RecordLayer& to, Sent sent) {
  const auto frame = to.open_frame(sent.message);
  if (!frame) return {frame.error(), {}};
  if (wire_bytes(*frame) > sent.payload.size() || frame->length > kSlotBytes) return {{}, {}};
  Bytes slot(frame->length);
  const std::span<std::byte> arrived = std::span(sent.payload).first(wire_bytes(*frame));
  const auto opened = to.open_payload(*frame, arrived, slot);
  if (!opened) return {opened.error(), {}};
  if (frame->packed == 0 && !to.seals()) std::ranges::copy(arrived, slot.begin());
  return {std::nullopt, slot};
}

Bytes text() {
  Bytes bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>("abcdefg hij"[i % 11]);
  return bytes;
}

struct Way {
  bool seals;
  Compression compression;
};
class EnvelopeWay : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(RecordLayer, EnvelopeWay,
                         testing::Values(Way{false, kCompressOff}, Way{true, kCompressOff}, Way{false, 1},
                                         Way{true, 1}));

TEST_P(EnvelopeWay, ArrivesAsItWas) {
  RecordLayer source = record_layer(true, GetParam().seals, GetParam().compression);
  RecordLayer target = record_layer(false, GetParam().seals, GetParam().compression);
  for (int i = 0; i < 5; ++i) {
    const Sent sent = send(source, text());
    EXPECT_EQ(sent.message.size(), source.frame_bytes());
    EXPECT_EQ(sent.payload.size() < text().size(), GetParam().compression != kCompressOff);
    const Received received = receive(target, sent);
    ASSERT_FALSE(received.error) << received.error->message();
    EXPECT_EQ(received.payload, text());
    // And the other way, as credits go.
    Frame credit;
    credit.kind = FrameKind::credit;
    credit.status = AckStatus::done;
    const auto message = target.wrap(credit);
    ASSERT_TRUE(message);
    const auto heard = source.open_frame(message->bytes());
    ASSERT_TRUE(heard);
    EXPECT_EQ(*heard, credit);
  }
}

// Made with a second implementation, in Python and xxhsum, from the description in frame.h and
// record_layer.h.
TEST(RecordLayer, ASealedChunkIsAsDocumented) {
  RecordLayer source = record_layer(true, true, kCompressOff);
  const std::string_view word = "0123456789abcdef";
  Bytes payload = copy_of(std::as_bytes(std::span(word)));
  Frame frame = frame_of(payload);
  frame.digest.bytes.fill(decltype(frame.digest.bytes)::value_type{0x11});
  std::span<const std::byte> travels(payload);
  Bytes room(payload.size());
  const auto message = source.wrap(frame, travels, room, false);
  ASSERT_TRUE(message);
  EXPECT_EQ(hex(travels), "c3b61b0d244a5a38a04975c2fb58d040");
  EXPECT_EQ(
      hex(message->bytes()),
      "60d15b39c0a7da68152738082870872bf2acfc571efadfc4778641368a77bf7a62a9afd8e2e446b4cda27c890cd8d169d3"
      "445c3f7cc46f21647d9c62a7c83e246e80fe002d099be5a5cd109cb0ba4656c7ccb19b3e020d1af71f64cce7c42d8fd064"
      "6eac8e5c9b65983b8e0bdb884ade");
}

TEST_P(EnvelopeWay, EveryBitChangedOnTheWayIsNoticedWhereItIsSealed) {
  if (!GetParam().seals) GTEST_SKIP() << "nothing is sealed";
  RecordLayer source = record_layer(true, true, GetParam().compression);
  const Sent sent = send(source, text());
  const std::size_t bits = 8 * (sent.message.size() + sent.payload.size());
  for (std::size_t bit = 0; bit < bits; ++bit) {
    Sent changed = sent;
    const std::size_t at = bit / 8;
    std::byte& b = at < sent.message.size() ? changed.message[at] : changed.payload[at - sent.message.size()];
    b ^= std::byte{1} << (bit % 8);
    RecordLayer target = record_layer(false, true, GetParam().compression);
    const Received received = receive(target, changed);
    ASSERT_TRUE(received.error) << bit;
    EXPECT_EQ(received.error->kind, io::ErrorKind::digest) << bit;
  }
}

TEST(RecordLayer, RepeatedReorderedAndLeftOutFramesAreNoticed) {
  RecordLayer source = record_layer(true, true, kCompressOff);
  std::vector<Sent> sent;
  for (int i = 0; i < 3; ++i) sent.push_back(send(source, text()));
  const auto fails_at = [&](std::vector<std::size_t> order) {
    RecordLayer target = record_layer(false, true, kCompressOff);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (receive(target, sent[order[i]]).error) return i;
    }
    return order.size();
  };
  EXPECT_EQ(fails_at({0, 1, 2}), 3u);
  EXPECT_EQ(fails_at({0, 0}), 1u);
  EXPECT_EQ(fails_at({1, 0}), 0u);
  EXPECT_EQ(fails_at({0, 2}), 1u);
}

TEST(RecordLayer, APayloadOfAnotherFrameDoesNotOpen) {
  RecordLayer source = record_layer(true, true, kCompressOff);
  Sent first = send(source, text());
  const Sent second = send(source, text());
  EXPECT_NE(first.payload, second.payload);
  first.payload = second.payload;
  RecordLayer target = record_layer(false, true, kCompressOff);
  EXPECT_TRUE(receive(target, first).error);
}

// A message that one side has sealed is not accepted as the other side's.
TEST(RecordLayer, ReflectedFramesDoNotOpen) {
  RecordLayer source = record_layer(true, true, kCompressOff);
  const Sent sent = send(source, text());
  EXPECT_FALSE(source.open_frame(sent.message));
}

TEST(RecordLayer, PlainFramesDoNotOpenWhereSealedOnesAreDue) {
  RecordLayer source = record_layer(true, false, kCompressOff);
  RecordLayer target = record_layer(false, true, kCompressOff);
  EXPECT_TRUE(receive(target, send(source, text())).error);
}

TEST(RecordLayer, WhatWasNotAgreedOnIsAnError) {
  RecordLayer packing = record_layer(true, false, 1);
  RecordLayer target = record_layer(false, false, kCompressOff);
  const Received packed = receive(target, send(packing, text()));
  ASSERT_TRUE(packed.error);
  EXPECT_EQ(packed.error->kind, io::ErrorKind::protocol);

  Frame tagged = frame_of(text());
  tagged.tag[0] = std::byte{1};
  EXPECT_FALSE(target.open_frame(encode(tagged)));
  EXPECT_FALSE(RecordLayer::create(std::nullopt, kCompressAuto + 1, true));
}

// A peer that holds the key and sends what does not unpack is no accident.
TEST(RecordLayer, SealedPayloadsThatDoNotUnpackAreAnError) {
  RecordLayer sealing = record_layer(true, true, kCompressOff);
  RecordLayer target = record_layer(false, true, 1);
  Bytes junk(100, std::byte{0x33});
  std::span<std::byte> travels(junk);
  Frame frame = frame_of(text());
  // As wrap() would, had it packed the payload to this.
  Sealer sealer = Sealer::create(Cipher::aes_256_gcm, test_keys(Cipher::aes_256_gcm, true).sending).value();
  frame.packed = 100;
  ASSERT_TRUE(sealer.seal(SealPart::payload, travels, frame.tag));
  const auto message = sealing.wrap_message(encode(frame));
  ASSERT_TRUE(message);
  const auto opened = target.open_frame(message->bytes());
  ASSERT_TRUE(opened) << opened.error().message();
  Bytes slot(frame.length);
  const auto unpacked = target.open_payload(*opened, travels, slot);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().kind, io::ErrorKind::protocol);
}

// Without a seal that may be damage on the way: the digest tells, and the chunk is sent again.
TEST(RecordLayer, PlainPayloadsThatDoNotUnpackAreLeftToTheirDigest) {
  RecordLayer source = record_layer(true, false, 1);
  RecordLayer target = record_layer(false, false, 1);
  Sent sent = send(source, text());
  sent.payload[10] ^= std::byte{0xff};
  const Received received = receive(target, sent);
  EXPECT_FALSE(received.error);
  EXPECT_NE(received.payload, text());
}

}  // namespace
}  // namespace rdcp::net
