// Where each of several targets stands: in a chain, or in a tree that is less deep and needs more of each
// link.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rdcp::cli {

// The target at place 0 gets all from the source, and each passes on to at most `fanout` others. Places are
// filled level by level, so a target stands behind its parent in their order. A fanout of 1 makes a chain.
class TargetTree {
 public:
  // fanout: at least 1.
  TargetTree(std::size_t targets, unsigned fanout) : targets_(targets), fanout_(fanout) {}

  unsigned fanout() const { return fanout_; }
  // Returns the place of whoever passes on to this one; nothing: that is the source.
  std::optional<std::size_t> parent(std::size_t place) const;
  // Returns the place of one of those that this one passes on to, if there are so many.
  std::optional<std::size_t> child(std::size_t place, unsigned branch) const;
  // Returns the number of levels from this place on, itself included.
  std::size_t height(std::size_t place) const;
  // Returns how many targets a chunk passes at most until it is everywhere.
  std::size_t depth() const { return targets_ == 0 ? 0 : height(0); }

 private:
  std::size_t targets_;
  unsigned fanout_;
};

// Holds what is known of a copy before it begins.
struct TreeFacts {
  std::size_t targets = 1;
  std::optional<std::uint64_t> bytes = {};      // of all sources; nothing: the walk has not ended
  std::chrono::duration<double> round_trip{0};  // between two hosts
  std::uint32_t chunk_bytes = 1;
  // The rate of the slowest links that are common among hosts of one cluster, if it is not known. Over faster
  // ones the levels cost the same part of a copy, or less.
  double bytes_per_second = 125e6;
};

// Returns the time that such a copy takes after the agents have been started: each link carries the bytes as
// often as a target passes them on, and what comes last to the last target, and the questions and answers
// that cannot begin before others have ended, cross every level. ARCHITECTURE.md says how well it fits.
std::chrono::duration<double> expected_time(const TreeFacts& facts, unsigned fanout);
// Returns the fanout with the least expected time.
unsigned best_fanout(const TreeFacts& facts);

}  // namespace rdcp::cli
