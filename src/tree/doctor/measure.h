// Measures what the streams between two agents can do without files: memory to memory, and without digests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/task.h"
#include "tree/messages/measure_job.h"
#include "tree/protocol/reporter.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// One side of a measurement. Any thread may call stop().
class Measure {
 public:
  Measure(const MeasureJob& job, Reporter& reporter) : job_(job), reporter_(reporter) {}

  // Runs one worker thread for each stream. Returns when the source's time is over, or a stream was lost,
  // which has been reported.
  void run(const std::vector<StreamMaker>& streams, const net::StreamShape& shape);
  void stop() { stopped_ = true; }
  bool is_source() const { return job_.source; }
  // The result after run(). Its notes tell which counters of the network have grown meanwhile.
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
