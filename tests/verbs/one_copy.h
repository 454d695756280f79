// Chunks from a source to a target over made-up devices, both on one thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/rdma/rdma.h"
#include "tests/net/rdma/rdma_pair.h"
#include "tests/net/stream/copy_harness.h"
#include "tests/verbs/fabric.h"

namespace rdcp::made_up {

// Restores the devices that other tests expect, and tells what no device would have told.
class DevicesTest : public testing::Test {
 protected:
  static void set(std::vector<Device> devices) { fabric().set_devices(std::move(devices)); }
  static void conduct(const Conduct& conduct) { fabric().conduct(conduct); }
  void TearDown() override {
    EXPECT_EQ(fabric().take_complaints(), std::vector<std::string>());
    set_devices_of_environment();
  }
};

class OneCopy {
 public:
  static constexpr std::uint32_t kSlots = 3;
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

  explicit OneCopy(const net::RdmaPort& port, std::uint32_t slots = kSlots, bool seals = false)
      : shape_{.target_slots = slots, .slot_bytes = kChunkBytes} {
    net::RdmaJob job;
    job.slots = slots;
    job.seals = seals;
    pair_ = net::make_rdma_pair(port, job);
    arena_ = io::Arena::create(slots, kChunkBytes).value();
    source_arena_ = io::Arena::create(slots, kChunkBytes).value();
    const auto layer = [](net::RdmaConnection& end, bool source) {
      return net::RecordLayer::create(net::seal_of(end), net::kCompressOff, source).value();
    };
    auto of_source = layer(*pair_.source.at(0), true);
    auto of_target = layer(*pair_.target.at(0), false);
    source_stream_ = net::make_rdma_source(*ring_, std::move(pair_.source[0]), shape_, *source_arena_,
                                           std::move(of_source));
    target_stream_ =
        net::make_rdma_target(*ring_, std::move(pair_.target[0]), shape_, *arena_, std::move(of_target));
    source_.emplace(net::SourceSide{*source_stream_, {}});
    source_->arena = &*source_arena_;
    target_.emplace(net::TargetSide{*target_stream_, *arena_});
  }
  void start(std::size_t chunks) {
    source_->lengths.assign(chunks, kChunkBytes);
    target_stream_->start();
    source_stream_->start();
    target_->start(shape_.target_slots);
    source_->start(shape_.target_slots);
  }
  bool until(const std::function<bool()>& done) { return net::run_until(*ring_, done); }
  void run(std::size_t chunks) {
    start(chunks);
    EXPECT_TRUE(until([this] { return source_->finished() && target_->finished(); }));
    EXPECT_EQ(target_->wrong, 0u);
  }

  net::Stream& source_stream() { return *source_stream_; }
  net::Stream& target_stream() { return *target_stream_; }
  net::SourceSide& source() { return *source_; }
  net::TargetSide& target() { return *target_; }
  std::size_t chunks_received() const { return target_->received.size(); }
  // The errors of both sides; empty if there is none.
  std::string error() const {
    std::string text;
    for (const net::Stream* stream : {source_stream_.get(), target_stream_.get()}) {
      if (stream->why_shut()) text += stream->why_shut()->message() + "; ";
    }
    return text;
  }

 private:
  net::StreamShape shape_;
  net::RdmaPair pair_;
  std::optional<io::Arena> arena_;
  std::optional<io::Arena> source_arena_;
  std::unique_ptr<io::Ring> ring_ = net::test_ring();
  std::unique_ptr<net::Stream> source_stream_;
  std::unique_ptr<net::Stream> target_stream_;
  std::optional<net::SourceSide> source_;
  std::optional<net::TargetSide> target_;
};

}  // namespace rdcp::made_up
