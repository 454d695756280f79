// One suite needs these facts about each kind of stream between two ends. Its tests are in
// connected_stream_test.cpp; a transport's own test instantiates it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/net/stream/copy_harness.h"

namespace rdcp::net {

// Both ends of a connection, each to be made a stream of, once, by whoever has its ring and arena.
struct ConnectedEnds {
  using Make = std::function<std::unique_ptr<Stream>(io::Ring& ring, io::Arena& arena)>;
  Make source;
  Make target;
};

struct ConnectedVariant {
  std::string name;
  io::RingChoice ring = io::RingChoice::io_uring;
  // Returns nothing, and says in `missing` why, if this machine has nothing to connect with.
  std::function<std::optional<ConnectedEnds>(const StreamShape& shape)> connect;
  const char* missing = "";
};

inline void PrintTo(const ConnectedVariant& variant, std::ostream* out) {
  *out << variant.name;
}

// Both sides on one thread and one ring.
class ConnectedStreamTest : public testing::TestWithParam<ConnectedVariant> {
 protected:
  static constexpr StreamShape kShape{.target_slots = 3, .slot_bytes = std::size_t{256} << 10};
  static constexpr std::size_t kSourceLoops = 4;

  void SetUp() override {
    auto ends = GetParam().connect(kShape);
    if (!ends) GTEST_SKIP() << GetParam().missing;
    ring_ = test_ring(GetParam().ring);
    if (!ring_) GTEST_SKIP() << "no such ring on this machine";
    source_stream_ = ends->source(*ring_, source_arena_);
    target_stream_ = ends->target(*ring_, arena_);
    source_.emplace(SourceSide{*source_stream_, {}});
    source_->arena = &source_arena_;
    target_.emplace(TargetSide{*target_stream_, arena_});
  }
  void start(std::vector<std::size_t> lengths) {
    source_->lengths = std::move(lengths);
    target_stream_->start();
    source_stream_->start();
    target_->start(4);
    source_->start(kSourceLoops);
  }
  bool until(const std::function<bool()>& done) { return run_until(*ring_, done); }
  bool finish() {
    return until([this] { return source_->finished() && target_->finished(); });
  }
  void expect_whole(std::size_t chunks) {
    ASSERT_TRUE(finish());
    EXPECT_FALSE(source_->error) << source_->error->message();
    EXPECT_FALSE(target_->error) << target_->error->message();
    EXPECT_FALSE(source_stream_->why_shut() || target_stream_->why_shut());
    EXPECT_EQ(target_->wrong, 0u);
    EXPECT_EQ(target_->received.size(), chunks);
    EXPECT_EQ(target_->ends_seen, 4u);
    EXPECT_EQ(source_->answers, std::vector(chunks, target_->answer));
  }
  // Chunks are under way, and none is given back.
  void stop_in_the_middle() {
    target_->releases = false;
    start(std::vector<std::size_t>(10, kShape.slot_bytes));
    ASSERT_TRUE(until([this] { return !target_->received.empty(); }));
  }
  static io::Error stopped() { return io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"); }

  io::Arena source_arena_ = io::Arena::create(kSourceLoops, kShape.slot_bytes).value();
  io::Arena arena_ = io::Arena::create(kShape.target_slots, kShape.slot_bytes).value();
  std::unique_ptr<io::Ring> ring_;
  std::unique_ptr<Stream> source_stream_;
  std::unique_ptr<Stream> target_stream_;
  std::optional<SourceSide> source_;
  std::optional<TargetSide> target_;
};

}  // namespace rdcp::net
