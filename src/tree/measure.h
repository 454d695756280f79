// What the streams between two agents can do when no file holds them up: memory to memory, without digests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/task.h"
#include "tree/measure_job.h"
#include "tree/reporter.h"
#include "tree/worker.h"

namespace rdcp::tree {

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
