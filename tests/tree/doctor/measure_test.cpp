#include "tree/doctor/measure.h"

#include <gtest/gtest.h>

#include <thread>

#include "net/stream/memory_stream.h"
#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {
namespace {

struct MeasureTest : testing::Test {
  static MeasureJob sending() {
    MeasureJob job;
    job.source = true;
    job.milliseconds = 50;
    return job;
  }
  // Both sides over memory, two streams.
  void run() {
    std::vector<StreamMaker> from, to;
    for (int i = 0; i < 2; ++i) {
      auto channel = net::make_memory_channel();
      from.push_back(
          [=, this](io::Ring& ring, io::Arena&) { return net::make_memory_source(ring, channel, shape); });
      to.push_back([=, this](io::Ring& ring, io::Arena& arena) {
        return net::make_memory_target(ring, channel, shape, arena);
      });
    }
    std::thread receiving([&] { target.run(to, shape); });
    source.run(from, shape);
    receiving.join();
  }

  const net::StreamShape shape{.target_slots = 3, .slot_bytes = 64 << 10};
  Heard heard;
  Measure source{sending(), heard.reporter};
  Measure target{MeasureJob(), heard.reporter};
};

TEST_F(MeasureTest, BothSidesCountTheSameBytes) {
  run();
  EXPECT_GT(source.result().bytes, 0u);
  EXPECT_EQ(source.result().bytes, target.result().bytes);
  EXPECT_GE(source.result().nanoseconds, 50'000'000u);
  EXPECT_EQ(source.result().streams.size(), 2u);
  EXPECT_TRUE(heard.problems().empty()) << heard.text();
}

TEST_F(MeasureTest, StopEndsIt) {
  source.stop();
  target.stop();
  run();
  EXPECT_EQ(source.result().bytes, target.result().bytes);
}

}  // namespace
}  // namespace rdcp::tree
