// The targets of one copy where there are several: who is in the chain, and what follows when one is lost.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cli/copy/chain_orders.h"
#include "cli/copy/chain_watch.h"
#include "cli/copy/copy_console.h"
#include "cli/copy/copy_sides.h"

namespace rdcp::cli {

// Where there is one target, all functions that return bool say that this is no affair of a chain. Not
// thread-safe.
class TargetChain {
 public:
  // All of these outlive this. targets: how many there are to be. end: ends the run, because no target is
  // left.
  TargetChain(std::size_t targets, CopySides& sides, CopyConsole& console, std::function<void()> end)
      : watch_(targets), sides_(sides), console_(console), end_(std::move(end)) {}

  bool several() const { return watch_.several(); }
  // Takes what the target says of the link behind it.
  void listen_to(TargetSide& target);
  // Gives each target, all of which have said hello, a key of its own, and tells it that there are others.
  // first: the first one's key, which the source has. Error: no key can be made.
  io::Result<void> introduce(const net::SessionKey& first);
  // Leaves out, for another run, those for which SRC lands elsewhere than for the first one.
  void leave_others(const CopyRequest& request);
  // Tells the targets behind the first one how they are joined. Error: two of them cannot be.
  io::Result<void> join(const CopyRequest& request, CopyBegins& begins);

  // These take what happens to a target. They return false if the session is not one of several targets'.
  bool hear(AgentSession& session, const tree::Problem& problem);
  bool lose(AgentSession& session, const io::Error& error);
  bool fall_silent(AgentSession& session, const io::Error& error);
  // The target of this number could not be started.
  void leave_out(std::size_t host, const io::Error& error);
  // All agents are done, the source with everything.
  void finish();

  // True once the chain is broken, and nothing more is waited for.
  bool is_over() const { return watch_.is_over(ChainWatch::Clock::now()); }
  bool is_broken() const { return watch_.is_broken(); }
  // Returns what became of each target, in the order of Parties::start_targets.
  std::vector<HostOutcome> outcomes() const { return watch_.outcomes(); }

 private:
  TargetSide* one_of_several(const AgentSession& session);
  void give_up(TargetSide& target, const io::Error& error);
  void drop(TargetSide& target);

  ChainWatch watch_;
  CopySides& sides_;
  CopyConsole& console_;
  const std::function<void()> end_;
  bool begun_ = false;
};

}  // namespace rdcp::cli
