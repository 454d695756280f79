// Streams that are sealed or packed, over real connections, and somebody in between who listens and meddles.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <thread>

#include "net/tcp/tcp.h"
#include "tests/net/crypto/seal_fixture.h"
#include "tests/net/stream/copy_harness.h"
#include "tests/net/tcp/tcp_pair.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kShape{.target_slots = 3, .slot_bytes = std::size_t{64} << 10};

// Carries bytes between two connections, keeps a copy, and changes one bit if it is told to.
class Middle {
 public:
  struct Change {
    bool to_target = true;
    std::size_t at = 0;  // of the bytes in that direction
    unsigned bit = 0;
  };

  Middle(int source, int target, std::optional<Change> change)
      : ends_{source, target}, change_(change), thread_([this] { carry(); }) {}
  ~Middle() { stop(); }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // After stop(): what went to the target, and back.
  const std::string& seen(bool to_target) const { return seen_[to_target ? 0 : 1]; }

 private:
  void carry() {
    std::array<char, 16 << 10> room;
    std::array<bool, 2> open{true, true};
    while (!stop_ && (open[0] || open[1])) {
      std::array<pollfd, 2> polls{pollfd{open[0] ? ends_[0] : -1, POLLIN, 0},
                                  pollfd{open[1] ? ends_[1] : -1, POLLIN, 0}};
      ::poll(polls.data(), polls.size(), 20);
      for (std::size_t from = 0; from < 2; ++from) {
        if (polls[from].revents == 0) continue;
        const ssize_t got = ::recv(ends_[from], room.data(), room.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) continue;
        if (got <= 0) {
          open[from] = false;
          ::shutdown(ends_[1 - from], SHUT_WR);
          continue;
        }
        pass(from, {room.data(), static_cast<std::size_t>(got)});
      }
    }
  }
  void pass(std::size_t from, std::span<char> bytes) {
    std::string& seen = seen_[from];
    if (change_ && change_->to_target == (from == 0) && change_->at >= seen.size() &&
        change_->at < seen.size() + bytes.size()) {
      bytes[change_->at - seen.size()] ^= static_cast<char>(1u << change_->bit);
    }
    seen.append(bytes.data(), bytes.size());
    for (std::size_t sent = 0; sent < bytes.size() && !stop_;) {
      pollfd writable{ends_[1 - from], POLLOUT, 0};
      ::poll(&writable, 1, 20);
      const ssize_t n =
          ::send(ends_[1 - from], bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN) return;
      if (n > 0) sent += static_cast<std::size_t>(n);
    }
  }

  std::array<int, 2> ends_;
  std::optional<Change> change_;
  std::array<std::string, 2> seen_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

struct Way {
  std::optional<Cipher> cipher;
  Compression compression = kCompressOff;
};

// A copy through a Middle.
class Copy {
 public:
  explicit Copy(const Way& way, std::optional<Middle::Change> change = {})
      : middle_(near_.target.get(), far_.source.get(), change) {
    source_stream = make_tcp_source(*ring_, std::move(near_.source), kShape, record_layer(way, true));
    target_stream = make_tcp_target(*ring_, std::move(far_.target), kShape, arena_, record_layer(way, false));
    source.emplace(SourceSide{*source_stream, {}});
    target.emplace(TargetSide{*target_stream, arena_});
  }
  void start(std::vector<std::size_t> lengths) {
    source->lengths = std::move(lengths);
    target_stream->start();
    source_stream->start();
    target->start(3);
    source->start(3);
  }
  bool until(const std::function<bool()>& done) { return run_until(*ring_, done); }
  bool finish() {
    return until([this] { return source->finished() && target->finished(); });
  }
  const std::string& seen(bool to_target) {
    middle_.stop();
    return middle_.seen(to_target);
  }

 private:
  static RecordLayer record_layer(const Way& way, bool source) {
    const std::optional<SealKeys> keys =
        way.cipher ? std::optional(test_keys(*way.cipher, source)) : std::nullopt;
    return RecordLayer::create(keys, way.compression, source).value();
  }

  TcpPair near_;
  TcpPair far_;
  Middle middle_;
  io::Arena arena_ = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  std::unique_ptr<io::Ring> ring_ = test_ring();

 public:
  std::unique_ptr<Stream> source_stream;
  std::unique_ptr<Stream> target_stream;
  std::optional<SourceSide> source;
  std::optional<TargetSide> target;
};

const std::vector<std::size_t> kLengths{1, 100, 4096, 4097, kShape.slot_bytes, 300, kShape.slot_bytes, 5000};

class SealedStream : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, SealedStream,
                         testing::Values(Way{}, Way{Cipher::aes_256_gcm}, Way{Cipher::chacha20_poly1305},
                                         Way{{}, 1}, Way{Cipher::aes_256_gcm, 3},
                                         Way{Cipher::aes_256_gcm, kCompressAuto}));

TEST_P(SealedStream, ChunksArriveWhole) {
  Copy copy(GetParam());
  copy.start(kLengths);
  ASSERT_TRUE(copy.finish());
  EXPECT_FALSE(copy.source->error) << copy.source->error->message();
  EXPECT_FALSE(copy.target->error) << copy.target->error->message();
  EXPECT_EQ(copy.target->wrong, 0u);
  EXPECT_EQ(copy.target->received.size(), kLengths.size());
  EXPECT_EQ(copy.source->answers, std::vector(kLengths.size(), AckStatus::done));
  for (const Frame& frame : copy.target->received) EXPECT_EQ(frame.packed, 0u);  // how it came is over
  const StreamCounters& counters = copy.source_stream->counters();
  EXPECT_EQ(counters.wire_bytes, copy.target_stream->counters().wire_bytes);
  const bool packs = GetParam().compression == 1 || GetParam().compression == 3;
  EXPECT_EQ(counters.wire_bytes < counters.payload_bytes, packs);
}

// Content that a listener would know again: a piece of each chunk that travels as it is.
bool shows_content(const std::string& seen) {
  for (std::size_t chunk = 0; chunk < kLengths.size(); ++chunk) {
    if (kLengths[chunk] < 64) continue;
    std::vector<std::byte> bytes(64);
    fill_chunk(chunk, bytes);
    if (seen.find(std::string_view(reinterpret_cast<const char*>(bytes.data()), 32)) != seen.npos)
      return true;
  }
  return false;
}

TEST_P(SealedStream, ShowsNothingWhereItIsSealed) {
  Copy copy(GetParam());
  copy.start(kLengths);
  ASSERT_TRUE(copy.finish());
  const bool sealed = GetParam().cipher.has_value();
  EXPECT_EQ(shows_content(copy.seen(true)), !sealed);
  for (const bool to_target : {true, false}) {
    EXPECT_EQ(copy.seen(to_target).find("RDFR") != std::string::npos, !sealed) << to_target;
  }
}

class MeddledStream : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, MeddledStream,
                         testing::Values(Way{Cipher::aes_256_gcm}, Way{Cipher::chacha20_poly1305, 1}));

// Wherever a bit is changed: the side that gets it stops with this cause and no other, has seen nothing that
// is wrong, and the other side hears of it from nobody, until the stream is closed.
TEST_P(MeddledStream, AChangedBitEndsTheStreamWithItsCause) {
  std::vector<Middle::Change> changes;
  for (std::size_t i = 0; i < 60; ++i) changes.push_back({true, i * 311, static_cast<unsigned>(i % 8)});
  for (std::size_t i = 0; i < 20; ++i) changes.push_back({false, i * 29, static_cast<unsigned>(i % 8)});
  for (const Middle::Change& change : changes) {
    SCOPED_TRACE(testing::Message() << (change.to_target ? "to target " : "to source ") << change.at);
    Copy copy(GetParam(), change);
    copy.start(kLengths);
    Stream& hit = change.to_target ? *copy.target_stream : *copy.source_stream;
    Stream& other = change.to_target ? *copy.source_stream : *copy.target_stream;
    ASSERT_TRUE(copy.until([&] { return hit.why_shut().has_value(); }));
    EXPECT_EQ(hit.why_shut()->kind, io::ErrorKind::digest) << hit.why_shut()->message();
    EXPECT_EQ(copy.target->wrong, 0u);
    ASSERT_TRUE(copy.until(
        [&] { return (change.to_target ? copy.target->loops_alive : copy.source->loops_alive) == 0; }));
    EXPECT_FALSE(hit.idle());
    EXPECT_FALSE(other.why_shut()) << other.why_shut()->message();
    hit.shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
    EXPECT_EQ(hit.why_shut()->kind, io::ErrorKind::digest);
    ASSERT_TRUE(copy.finish());
    EXPECT_EQ(copy.target->wrong, 0u);
  }
}

}  // namespace
}  // namespace rdcp::net
