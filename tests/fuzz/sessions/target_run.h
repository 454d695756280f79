// What a target is asked to do, and by which frames, as an input has it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tests/fuzz/sessions/frame_maker.h"
#include "tree/target/target.h"

namespace rdcp::fuzz {

inline constexpr std::uint32_t kTargetSlots = 4;
inline constexpr net::StreamShape kTargetShape{.target_slots = kTargetSlots, .slot_bytes = kSlotBytes};

struct TargetRun {
  tree::TargetJob job;
  tree::Begin begin;
  bool with_part = false, with_marker = false, ends = false;
  bool only_file = false;  // as for rdrecv: whatever the source says, it can but fill one file

  std::string earlier_marker() const { return with_marker ? job.marker : std::string(); }
};

TargetRun run_of(Choices& choices, const std::string& destination);
Agreement agreement_of(const TargetRun& run);
// The frames of each stream: those that can come, until the input ends or there are enough.
std::vector<std::deque<Sent>> frames_of(FrameMaker& maker, const Choices& choices, std::size_t streams);
// What a run tells its user has only what a terminal may see.
void check_told_problem(const tree::Problem& problem);
void check_told_change(const tree::Change& change);

}  // namespace rdcp::fuzz
