// The targets of one copy where there are several: who is in the chain, and what follows when one is lost.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/copy/chain_orders.h"
#include "cli/copy/copy_console.h"
#include "cli/copy/copy_sides.h"
#include "cli/copy/slow_hosts.h"
#include "cli/layout/chain_watch.h"

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
  // Leaves out those for which SRC cannot land, and, for another run, those for which it lands elsewhere than
  // for the first one: there DST is a directory and not here, or the other way round.
  void keep_alike(const CopyRequest& request);
  // Settles the request's fanout, once those that are left are ready.
  void choose_fanout(CopyRequest& request) const;
  // Tells the targets behind the first one how they are joined. One that cannot be reached by the one before
  // is left out, and gets its copy alone.
  void join(const CopyRequest& request, CopyBegins& begins);
  // To be called now and then: leaves out, for another run, targets that have given no sign of life for some
  // seconds since the chain has begun, and those that say no hello long after others have.
  void look_for_silent();

  // Likewise: ends the chain if some hosts hold up the others, which then go on without them.
  void look_for_slow();
  // Returns a line for each of the hosts that have failed, and of the slowest ones, at most so many.
  std::vector<std::string> host_lines(std::size_t most) const;

  // These take what happens to a target. They return false if the session is not one of several targets'.
  bool hear(AgentSession& session, const tree::Problem& problem);
  bool lose(AgentSession& session, const io::Error& error);
  // Takes note that the target of this number could not be started.
  void leave_out(std::size_t host, const io::Error& error);
  // Takes note that all agents are done, the source with everything.
  void finish();
  // Compares what each target has got with what the source has sent, if the chain keeps ledgers: one that has
  // got something else has failed. After the last word of each agent.
  void prove();

  // True once the chain is broken, and nothing more is waited for.
  bool is_over() const { return watch_.is_over(ChainWatch::Clock::now()); }
  bool is_broken() const { return watch_.is_broken(); }
  // Returns how many of several targets have failed so far.
  std::size_t failed() const { return watch_.failed(); }
  // Returns what became of each target, in the order of Parties::start_targets.
  std::vector<HostOutcome> outcomes() const { return watch_.outcomes(); }

 private:
  void ask_for_pace(const CopyRequest& request);
  TargetSide* one_of_several(const AgentSession& session);
  bool still_passes_on(const tree::Problem& problem) const;
  void give_up(TargetSide& target, const io::Error& error);
  void drop(TargetSide& target);
  bool lacks_something(const TargetSide& target) const;
  void warn_unproven(const TargetSide& target) const;
  void refute(const TargetSide& target, const std::string& why);
  std::string last_sound(std::size_t host, const std::set<std::size_t>& sound) const;

  ChainWatch watch_;
  SlowHosts slow_;
  std::vector<std::string> names_;  // of the hosts that have been started
  CopySides& sides_;
  CopyConsole& console_;
  const std::function<void()> end_;
  bool begun_ = false;
  bool keeps_ledger_ = false;
  bool source_failed_ = false;  // to read some files
};

}  // namespace rdcp::cli
