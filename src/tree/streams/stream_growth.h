// Decides over how many streams a copy goes: further ones are added while that makes it faster, and those
// that did not help rest.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tree/streams/stream_supervisor.h"

namespace rdcp::tree {

// Says how rates are measured, and what counts as faster.
struct GrowthPace {
  std::chrono::milliseconds window{500};  // of one measurement
  double gain = 1.1;                      // so many times as fast at least, or the further streams rest
};

// With R bytes a second, and a chunk H seconds under way from when it is read to when it is written, R x H
// bytes are in flight. Each stream has room for so many, so where the disks and the path could do more, the
// rate grows with the streams; and where something else is the limit, it does not. Neither R nor H need to be
// known beforehand: half as many streams as there are, are added, once the rate is steady, and both are
// measured. After each trial in vain the next one is twice as far away.
class StreamGrowth : public StreamPolicy {
 public:
  // most: how many streams there may be.
  explicit StreamGrowth(std::size_t most, const GrowthPace& pace = {}) : most_(most), pace_(pace) {}

  // The first call tells how many streams there are at first.
  std::optional<std::size_t> take(Clock::time_point now, std::uint64_t bytes, std::size_t living) override;
  std::string outcome() const override;

 private:
  enum class State : std::uint8_t { waiting, joining, settling, judging };

  // Returns the bytes of a second in the window that has just ended; nothing while one is under way.
  std::optional<double> rate_of_window(Clock::time_point now, std::uint64_t bytes);
  std::optional<std::size_t> wait(double rate, Clock::time_point now);
  std::optional<std::size_t> judge(double rate, Clock::time_point now);
  std::optional<std::size_t> go_back(Clock::time_point now);

  static constexpr std::size_t kPauseWindows = 16;

  const std::size_t most_;
  const GrowthPace pace_;
  State state_ = State::waiting;
  std::size_t first_ = 0;
  std::size_t used_ = 0;               // streams
  std::size_t before_ = 0;             // used_, without the trial
  std::size_t best_ = 0;               // how many the last trial that helped has left in use
  bool in_vain_ = false;               // a trial was
  std::size_t waited_ = 0;             // windows for streams that are to join
  std::size_t pause_ = kPauseWindows;  // windows until the next trial after one in vain
  Clock::time_point next_trial_{};
  Clock::time_point since_{};  // of this window
  std::uint64_t bytes_ = 0;    // when it began
  double last_ = 0;            // the rate of the window before; 0: there was none
  double baseline_ = 0;        // the rate without the trial
};

}  // namespace rdcp::tree
