// Keeps account of a chain of targets, or a tree: what became of each host, and which link is broken.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/layout/target_tree.h"
#include "io/result.h"

namespace rdcp::cli {

// Says what became of a target.
struct HostOutcome {
  // again: nothing is wrong with it as far as is known, but the chain that it was in is broken, or it was in
  // none. suspect: the chain has broken at it. slow: it has held up all others of its chain.
  enum class State : unsigned char { again, suspect, slow, failed, done } state = State::again;
  int status = 0;     // exit status of its part; 0 if it has all
  std::string cause;  // one line, where it failed, or gets its copy alone
};

// The hosts have the numbers of Parties::start_targets. Not thread-safe.
class ChainWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // How long after the first sign that the chain is broken others are waited for, which tell where; and how
  // long after a host was lost, which tells where. Others that are lost for the same reason show meanwhile.
  static constexpr std::chrono::milliseconds kGrace{1000}, kGraceOfLost{250};

  explicit ChainWatch(std::size_t hosts) : outcomes_(hosts) {}
  bool several() const { return outcomes_.size() > 1; }

  // The hosts of the chain, or of a tree, in the order of their places, once it is known.
  void set_order(std::vector<std::size_t> hosts, unsigned fanout = 1) {
    order_ = std::move(hosts);
    tree_ = TargetTree(order_.size(), fanout);
  }
  // Returns who passes on to this host; nothing: that is the source.
  std::optional<std::size_t> parent_of(std::size_t host) const;
  // The host is lost to this run, or cannot finish it.
  void fail(std::size_t host, int status, const std::string& cause);
  // Something could not be copied to the host.
  void raise(std::size_t host, int status);
  // The same for every host, because the source could not read it.
  void raise_all(int status);
  // Whoever sends to this host can send no more: the source, or the host before it.
  void lose_way_to(std::size_t host, const std::string& cause, Clock::time_point now);
  // branch: the number of the host behind among those to which this one passes on.
  void lose_way_behind(std::size_t host, unsigned branch, const std::string& cause, Clock::time_point now);
  // The host gets nothing any more. It may be far behind the break, since each host ends its streams to the
  // next one when its own are lost.
  void starve(std::size_t host, const std::string& cause, Clock::time_point now);
  // A host that is in the chain has been lost.
  void break_at(std::size_t host, Clock::time_point now);
  // The same for one that is silent, or cannot be in this chain: it gets its copy alone.
  void doubt(std::size_t host, const std::string& cause, Clock::time_point now);

  // The others are to go on without this one, which gets its copy alone. Nothing is wrong with the chain, but
  // it ends.
  void set_aside(std::size_t host, const std::string& why, Clock::time_point now);

  bool is_broken() const { return over_at_.has_value(); }
  // True once nothing more is waited for.
  bool is_over(Clock::time_point now) const { return over_at_ && now >= *over_at_; }
  // True if no host can still come to its end.
  bool all_failed() const { return failed() == outcomes_.size(); }
  std::size_t failed() const;

  // The run has come to its end at this host, unless that has failed.
  void finish(std::size_t host);
  // Returns what became of each host. Where the chain is broken a host that was lost is to blame. Otherwise
  // those are suspect that explain all ways that were lost: the host on both sides of which they are, or the
  // one behind.
  std::vector<HostOutcome> outcomes() const;

 private:
  std::size_t suspect_of(const std::set<std::size_t>& links) const;
  bool leads_on(const std::set<std::size_t>& links, std::size_t place) const;
  void note_break(std::set<std::size_t>& links, std::size_t link, const std::string& cause,
                  Clock::time_point now);
  std::optional<std::size_t> place_of(std::size_t host) const;
  void end_by(Clock::time_point when);
  void lose(std::size_t host, Clock::time_point end);

  std::vector<HostOutcome> outcomes_;
  std::vector<std::size_t> order_;
  TargetTree tree_{0, 1};  // of the places in order_
  // Links, by the place of the host that they lead to.
  std::set<std::size_t> lost_ways_;
  std::set<std::size_t> starved_;
  std::string cause_;                         // of the first
  bool lost_one_ = false;                     // a host, while it was in the chain
  std::optional<Clock::time_point> over_at_;  // set once it is broken
};

}  // namespace rdcp::cli
