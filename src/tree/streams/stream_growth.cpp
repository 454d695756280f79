#include "tree/streams/stream_growth.h"

#include <algorithm>
#include <utility>

namespace rdcp::tree {
namespace {

// Two windows in a row that differ by no more than this show a steady rate. TCP's slow start, or a disk that
// fills its cache, shows a rate that changes by itself.
constexpr double kSteady = 1.1;
// So many windows may pass until the further streams are there.
constexpr std::size_t kJoinWindows = 10;
constexpr std::size_t kPauseWindowsMax = 1024;

bool is_steady(double a, double b) {
  return a > 0 && b > 0 && std::max(a, b) <= kSteady * std::min(a, b);
}

}  // namespace

std::optional<std::size_t> StreamGrowth::take(Clock::time_point now, std::uint64_t bytes,
                                              std::size_t living) {
  if (first_ == 0) {
    first_ = used_ = before_ = best_ = living;
    since_ = now;
    bytes_ = bytes;
  }
  const auto rate = rate_of_window(now, bytes);
  if (!rate) return std::nullopt;
  switch (state_) {
    case State::waiting:
      return wait(*rate, now);
    case State::joining:
      if (living < used_ && ++waited_ >= kJoinWindows) return go_back(now);
      if (living >= used_) state_ = State::settling;
      return std::nullopt;
    case State::settling:
      state_ = State::judging;
      last_ = 0;
      return std::nullopt;
    case State::judging:
      return judge(*rate, now);
  }
  return std::nullopt;
}

std::string StreamGrowth::outcome() const {
  if (best_ > first_) {
    return std::to_string(best_) + " streams were faster than " + std::to_string(first_);
  }
  return in_vain_ ? "more streams than " + std::to_string(first_) + " were not faster" : std::string();
}

std::optional<double> StreamGrowth::rate_of_window(Clock::time_point now, std::uint64_t bytes) {
  if (now - since_ < pace_.window) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - since_).count();
  const double rate = static_cast<double>(bytes - std::min(bytes, bytes_)) / seconds;
  since_ = now;
  bytes_ = bytes;
  return rate;
}

// Waits for a steady rate, then begins a trial.
std::optional<std::size_t> StreamGrowth::wait(double rate, Clock::time_point now) {
  const double before = std::exchange(last_, rate);
  if (used_ >= most_ || now < next_trial_ || !is_steady(before, rate)) return std::nullopt;
  baseline_ = std::max(before, rate);
  before_ = used_;
  used_ = std::min(most_, used_ + std::max<std::size_t>(used_ / 2, 1));
  waited_ = 0;
  state_ = State::joining;
  return used_;
}

// Both of two windows must show the gain, so that one that happens to be fast does not decide.
std::optional<std::size_t> StreamGrowth::judge(double rate, Clock::time_point now) {
  if (rate < pace_.gain * baseline_) return go_back(now);
  if (std::exchange(last_, rate) == 0) return std::nullopt;
  best_ = used_;
  pause_ = kPauseWindows;
  state_ = State::waiting;
  return std::nullopt;
}

std::optional<std::size_t> StreamGrowth::go_back(Clock::time_point now) {
  used_ = before_;
  in_vain_ = true;
  next_trial_ = now + pause_ * pace_.window;
  pause_ = std::min(2 * pause_, kPauseWindowsMax);
  last_ = 0;
  state_ = State::waiting;
  return used_;
}

}  // namespace rdcp::tree
