// The messages by which a coordinator has two agents measure what the streams between them can do.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "io/ring.h"
#include "tree/messages/job.h"
#include "tree/messages/message.h"
#include "tree/messages/stream_wish.h"

namespace rdcp::tree {

// Tells an agent to take part in a measurement, as the source or as the target. It may be sent again once the
// last measurement is done.
struct MeasureJob {
  static constexpr MessageType kType = MessageType::measure_job;
  bool source = false;
  io::Within<std::uint32_t, 0, 60'000> milliseconds;  // how long the source sends
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
  std::uint64_t nanoseconds = 0;  // source: how long its workers ran
  std::vector<io::Words> streams;
  std::vector<io::Words> notes;
  auto fields() { return std::tie(bytes, nanoseconds, streams, notes); }
};

}  // namespace rdcp::tree
