// How long the stages of a copy took.
#pragma once

#include <cstdint>
#include <tuple>

namespace rdcp::tree {

// Where time went, in nanoseconds. "Busy" is the time that a worker's thread worked, "wait" the sum of the
// times that its slots waited.
struct StageTimes {
  std::uint64_t read_busy_ns = 0, read_wait_ns = 0;    // source files
  std::uint64_t write_busy_ns = 0, write_wait_ns = 0;  // target files
  std::uint64_t digest_ns = 0;
  std::uint64_t away_ns = 0;  // source: from asking for a credit until the target's answer
  std::uint64_t idle_ns = 0;  // source: there was nothing to do yet
  auto fields() {
    return std::tie(read_busy_ns, read_wait_ns, write_busy_ns, write_wait_ns, digest_ns, away_ns, idle_ns);
  }
};

}  // namespace rdcp::tree
