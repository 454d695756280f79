#include "cli/runs/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/copy/coordinator.h"
#include "cli/runs/retries.h"
#include "cli/text/exit_status.h"
#include "cli/text/json_report.h"
#include "cli/text/output.h"

namespace rdcp::cli {
namespace {

using State = HostOutcome::State;
using Hosts = std::vector<std::size_t>;

class Fleet {
 public:
  Fleet(const CopyRequest& request, const std::vector<std::string>& names, int signal_fd,
        std::vector<HostOutcome>& outcomes)
      : request_(request), names_(names), signal_fd_(signal_fd), outcomes_(outcomes) {
    outcomes_.assign(names.size(), {});
    for (std::size_t host = 0; host < names.size(); ++host) waiting_.push_back(host);
  }

  // Copies to all that wait, in chains as long as one can do better than the last, then to each suspect
  // alone.
  void run() {
    while (!waiting_.empty() && run_chain(std::exchange(waiting_, {}))) {
    }
    give_up_waiting();
    for (const std::size_t host : std::exchange(suspects_, {})) {
      waiting_.push_back(host);
      if (!interrupted() && !no_other_try_) run_chain(std::exchange(waiting_, {}));
      give_up_waiting();
    }
  }

  // True if some could not be reached, or were lost, so that another try may help.
  bool lost_some() const {
    return !interrupted() && !no_other_try_ && std::ranges::any_of(outcomes_, is_lost);
  }
  // Has those wait for the next run().
  void try_lost_again() {
    for (std::size_t host = 0; host < outcomes_.size(); ++host) {
      if (!is_lost(outcomes_[host])) continue;
      outcomes_[host] = {};
      (slow_.contains(host) ? suspects_ : waiting_).push_back(host);
    }
  }

  int status() const {
    if (interrupted()) return status_;
    const auto [least, most] = std::ranges::minmax(outcomes_, {}, &HostOutcome::status);
    return least.status == most.status ? most.status : kExitFiles;
  }

 private:
  bool interrupted() const { return status_ >= kExitSignalBase; }
  static bool is_lost(const HostOutcome& outcome) {
    return outcome.status == kExitUnreachable || outcome.status == kExitConnection;
  }

  std::size_t count(State state) const {
    return static_cast<std::size_t>(std::ranges::count(outcomes_, state, &HostOutcome::state));
  }

  // Returns false if another chain of those that are left can do no better.
  bool run_chain(const Hosts& hosts) {
    CopyRequest part = request_;
    part.parties.start_targets.clear();
    for (const std::size_t host : hosts) {
      part.parties.start_targets.push_back(request_.parties.start_targets[host]);
    }
    part.slow_may_leave = may_leave();
    part.view.hosts = {.all = names_.size(), .done = count(State::done), .failed = count(State::failed)};
    for (std::size_t host = 0; host < names_.size(); ++host) {
      if (outcomes_[host].state == State::failed)
        part.view.lost_hosts.push_back("  " + names_[host] + ": failed: " + outcomes_[host].cause);
    }
    Coordinator coordinator(part, signal_fd_);
    status_ = coordinator.run();
    no_other_try_ = no_other_try_ || coordinator.was_the_only_try();
    const std::vector<HostOutcome> ended = coordinator.chain().outcomes();
    for (std::size_t i = 0; i < hosts.size(); ++i) take(hosts[i], ended[i]);
    if (hosts.size() == 1) outcomes_[hosts.front()].status = status_;
    if (waiting_.empty() || waiting_.size() == hosts.size() || interrupted() || no_other_try_) return false;
    tell(fmt::format("goes on with {} of {} hosts", waiting_.size(), names_.size()));
    return true;
  }

  // At least half of the hosts stay, since so many cannot be much slower than the others.
  std::size_t may_leave() const {
    return request_.keep_slow ? 0 : names_.size() / 2 - std::min(names_.size() / 2, slow_.size());
  }

  void tell(const std::string& words) const {
    write_remark(fmt::format("{}: {}\n", request_.view.program, words), request_.view.quiet);
    if (request_.view.json != nullptr) (void)write_to_stdout(request_.view.json->warning(words));
  }

  void take(std::size_t host, const HostOutcome& ended) {
    HostOutcome& outcome = outcomes_[host];
    outcome.status = std::max(outcome.status, ended.status);
    outcome.cause = ended.cause;
    switch (ended.state) {
      case State::again:
        return waiting_.push_back(host);
      case State::slow:
        slow_.insert(host);
        if (request_.view.json != nullptr)
          (void)write_to_stdout(request_.view.json->slow_host(names_[host], ended.cause));
        [[fallthrough]];
      case State::suspect:
        if (!no_other_try_)
          tell(fmt::format("warning: {}: gets its copy alone later: {}", names_[host], ended.cause));
        return suspects_.push_back(host);
      case State::failed:
      case State::done:
        outcome.state = ended.state;
    }
  }

  void give_up_waiting() {
    for (const std::size_t host : std::exchange(waiting_, {})) {
      HostOutcome& outcome = outcomes_[host];
      outcome.state = State::failed;
      outcome.status = std::max({outcome.status, status_, kExitFiles});
      if (outcome.cause.empty() && no_other_try_)
        outcome.cause =
            "the chain has broken before this host had all, and its bytes cannot be read or written again";
      if (outcome.cause.empty())
        outcome.cause = "the copy has ended before this host had all; an earlier error says why";
    }
  }

  const CopyRequest& request_;
  const std::vector<std::string>& names_;
  const int signal_fd_;
  std::vector<HostOutcome>& outcomes_;
  Hosts waiting_;               // in the order of the next chain
  Hosts suspects_;              // at which a chain has broken, or which have left one
  std::set<std::size_t> slow_;  // that have left one
  int status_ = kExitOk;        // of the last chain
  bool no_other_try_ = false;   // no other chain can have it
};

}  // namespace

int copy_to_hosts(const CopyRequest& request, const std::vector<std::string>& names, int signal_fd,
                  unsigned retries, std::vector<HostOutcome>& outcomes) {
  Fleet fleet(request, names, signal_fd, outcomes);
  fleet.run();
  for (RetryPauses pauses(request, signal_fd, retries); fleet.lost_some() && pauses.wait();) {
    fleet.try_lost_again();
    fleet.run();
  }
  return fleet.status();
}

}  // namespace rdcp::cli
