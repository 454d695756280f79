#include "cli/layout/target_tree.h"

#include <algorithm>

namespace rdcp::cli {
namespace {

using Seconds = std::chrono::duration<double>;

// A copy that has not been walked is taken to have so much.
constexpr double kUnknownBytes = 1e9;
// The source waits about so often for an answer that comes from the last target: to what it opens, to what it
// commits, to the directories at the end.
constexpr double kTurns = 4;
// Each level takes so long besides, for threads are woken and digests made (measured over loopback, with one
// small file: a chain of 64 takes 0.46 ms longer for each level that a tree of them saves, one of 16 1.2 ms).
constexpr Seconds kHandling{0.5e-3};
// A wider tree saves hardly a level more, and each link is shared by more.
constexpr unsigned kFanoutTried = 8;

}  // namespace

std::optional<std::size_t> TargetTree::parent(std::size_t place) const {
  if (place == 0) return std::nullopt;
  return (place - 1) / fanout_;
}

std::optional<std::size_t> TargetTree::child(std::size_t place, unsigned branch) const {
  const std::size_t child = fanout_ * place + 1 + branch;
  if (branch >= fanout_ || child >= targets_) return std::nullopt;
  return child;
}

// The first child of each level is in the deepest branch.
std::size_t TargetTree::height(std::size_t place) const {
  std::size_t levels = 0;
  for (; place < targets_; place = fanout_ * place + 1) ++levels;
  return levels;
}

Seconds expected_time(const TreeFacts& facts, unsigned fanout) {
  const auto depth = static_cast<double>(TargetTree(facts.targets, fanout).depth());
  const double times =
      std::min<double>(fanout, static_cast<double>(std::max<std::size_t>(facts.targets, 2) - 1));
  const double bytes = facts.bytes ? static_cast<double>(*facts.bytes) : kUnknownBytes;
  const Seconds slot{std::min<double>(facts.chunk_bytes, bytes) * times / facts.bytes_per_second};
  return Seconds(bytes * times / facts.bytes_per_second) +
         depth * (slot + kHandling + kTurns * facts.round_trip);
}

unsigned best_fanout(const TreeFacts& facts) {
  unsigned best = 1;
  for (unsigned fanout = 2; fanout <= kFanoutTried; ++fanout) {
    if (expected_time(facts, fanout) < expected_time(facts, best)) best = fanout;
  }
  return best;
}

}  // namespace rdcp::cli
