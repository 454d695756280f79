// What the streams between two agents can do when no file holds them up: memory to memory, without digests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "tree/job.h"
#include "tree/reporter.h"
#include "tree/worker.h"

namespace rdcp::tree {

// To an agent: take part in a measurement, as the source or as the target. May be sent again when the last
// one is done.
struct MeasureJob {
  static constexpr MessageType kType = MessageType::measure_job;
  bool source = false;
  io::Within<std::uint32_t, 0, 60'000> milliseconds;  // how long the source goes on sending
  io::RingChoice ring = io::RingChoice::automatic;
  StreamWish streams;
  auto fields() { return std::tuple_cat(std::tie(source, milliseconds, ring), streams.fields()); }
};

struct MeasureReady {
  static constexpr MessageType kType = MessageType::measure_ready;
  Reach reach;
  auto fields() { return std::tie(reach); }
};

struct Measured {
  static constexpr MessageType kType = MessageType::measured;
  std::uint64_t bytes = 0;
  std::uint64_t nanoseconds = 0;  // of the source: from the first chunk to the last one's credit
  std::vector<io::Words> streams;
  std::vector<io::Words> notes;
  auto fields() { return std::tie(bytes, nanoseconds, streams, notes); }
};

// One side of it. stop() from any thread.
class Measure {
 public:
  Measure(const MeasureJob& job, Reporter& reporter) : job_(job), reporter_(reporter) {}

  // One worker thread a stream; returns when the source's time is over, or a stream was lost (reported).
  void run(const std::vector<StreamMaker>& streams, const net::StreamShape& shape);
  void stop() { stopped_ = true; }
  bool is_source() const { return job_.source; }
  // After run(), without notes.
  const Measured& result() const { return measured_; }

 private:
  struct Worker;
  void work(const StreamMaker& make_stream, const net::StreamShape& shape, std::string& description);
  io::Task send(Worker& worker, std::span<std::byte> slot);
  io::Task receive(Worker& worker);
  bool time_over() const { return stopped_ || io::Clock::now() >= until_; }

  const MeasureJob job_;
  Reporter& reporter_;
  io::Clock::time_point until_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> stopped_{false};
  Measured measured_;
};

}  // namespace rdcp::tree
