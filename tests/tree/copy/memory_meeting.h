// Streams in memory that come later, where both sides of a copy in one process meet.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "tests/tree/copy/copy_fixture.h"

namespace rdcp::tree {

// Where both sides get memory streams that come later. One of them connects.
class MemoryMeeting {
 public:
  MemoryMeeting(const net::StreamShape& shape, bool source_connects)
      : source(*this, source_connects), target(*this, !source_connects), shape_(shape) {}

  class Side : public FurtherStreams {
   public:
    Side(MemoryMeeting& meeting, bool connects) : meeting_(meeting), connects_(connects) {}
    bool connects() const override { return connects_; }
    std::optional<FurtherStream> next(std::size_t stream, StreamsLeft) override {
      return connects_ ? meeting_.connect(stream, *this) : meeting_.accept(*this);
    }
    void stop() override {
      const std::lock_guard lock(meeting_.mutex_);
      stopped = true;
      meeting_.changed_.notify_all();
    }
    bool stopped = false;

   private:
    MemoryMeeting& meeting_;
    const bool connects_;
  };

  Side source, target;
  net::MemoryTap tap;

 private:
  std::optional<FurtherStream> connect(std::size_t stream, const Side& side) {
    const std::lock_guard lock(mutex_);
    if (side.stopped) return std::nullopt;
    const StreamEnds ends = join_in_memory(shape_, tap);
    const bool source_connects = &side == &source;
    waiting_.push_back({stream, source_connects ? ends.target : ends.source});
    changed_.notify_all();
    return FurtherStream{stream, source_connects ? ends.source : ends.target};
  }
  std::optional<FurtherStream> accept(const Side& side) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return side.stopped || !waiting_.empty(); });
    if (side.stopped) return std::nullopt;
    FurtherStream stream = std::move(waiting_.front());
    waiting_.pop_front();
    return stream;
  }

  const net::StreamShape shape_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FurtherStream> waiting_;
};

}  // namespace rdcp::tree
