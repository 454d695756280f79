#include "cli/runs/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/copy/coordinator.h"
#include "cli/text/exit_status.h"
#include "cli/text/output.h"

namespace rdcp::cli {
namespace {

using State = HostOutcome::State;

// A chain may break so often at a host before it is given up. The first time it may have been its neighbour's
// fault.
constexpr unsigned kSuspicionsMax = 2;

class Fleet {
 public:
  Fleet(const CopyRequest& request, const std::vector<std::string>& names, int signal_fd,
        std::vector<HostOutcome>& outcomes)
      : request_(request),
        names_(names),
        signal_fd_(signal_fd),
        outcomes_(outcomes),
        suspicions_(names.size()) {
    outcomes_.assign(names.size(), {});
    for (std::size_t host = 0; host < names.size(); ++host) waiting_.push_back(host);
  }

  int run() {
    while (!waiting_.empty() && run_chain()) {
    }
    for (const std::size_t host : waiting_) give_up(host, "the copy has ended before it came to this host");
    return status();
  }

 private:
  // Returns false if no further chain can do better.
  bool run_chain() {
    CopyRequest part = request_;
    part.parties.start_targets.clear();
    for (const std::size_t host : waiting_)
      part.parties.start_targets.push_back(request_.parties.start_targets[host]);
    const std::vector<std::size_t> hosts = std::exchange(waiting_, {});
    Coordinator coordinator(part, signal_fd_);
    status_ = coordinator.run();
    const std::vector<HostOutcome> ended = coordinator.chain().outcomes();
    std::vector<std::size_t> suspects;
    bool advanced = false;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const std::size_t host = hosts[i];
      outcomes_[host].status = std::max(outcomes_[host].status, ended[i].status);
      switch (ended[i].state) {
        case State::again:
          waiting_.push_back(host);
          break;
        case State::suspect:
          suspects.push_back(host);
          advanced = true;
          break;
        case State::failed:
        case State::done:
          outcomes_[host].state = ended[i].state;
          outcomes_[host].cause = ended[i].cause;
          advanced = true;
          break;
      }
    }
    for (const std::size_t host : suspects) doubt(host, ended[index_of(hosts, host)].cause);
    const bool interrupted = status_ >= kExitSignalBase;
    if (!waiting_.empty() && advanced && !interrupted) {
      write_to_stderr(fmt::format("{}: goes on with {} of {} hosts\n", request_.view.program, waiting_.size(),
                                  names_.size()));
    }
    return advanced && !interrupted;
  }

  static std::size_t index_of(const std::vector<std::size_t>& hosts, std::size_t host) {
    return static_cast<std::size_t>(std::ranges::find(hosts, host) - hosts.begin());
  }

  // The next time the host is the last of its chain, where it harms nobody.
  void doubt(std::size_t host, const std::string& cause) {
    if (++suspicions_[host] > kSuspicionsMax) return give_up(host, cause);
    write_to_stderr(fmt::format("{}: warning: {}: the chain has broken there: {}\n", request_.view.program,
                                names_[host], cause));
    waiting_.push_back(host);
  }

  void give_up(std::size_t host, const std::string& cause) {
    outcomes_[host].state = State::failed;
    outcomes_[host].cause = cause;
    outcomes_[host].status = std::max({outcomes_[host].status, status_, kExitFiles});
  }

  int status() const {
    if (status_ >= kExitSignalBase) return status_;
    const auto [least, most] = std::ranges::minmax(outcomes_, {}, &HostOutcome::status);
    return least.status == most.status ? most.status : kExitFiles;
  }

  const CopyRequest& request_;
  const std::vector<std::string>& names_;
  const int signal_fd_;
  std::vector<HostOutcome>& outcomes_;
  std::vector<unsigned> suspicions_;
  std::vector<std::size_t> waiting_;  // in the order of the next chain
  int status_ = kExitOk;              // of the last chain
};

}  // namespace

int copy_to_hosts(const CopyRequest& request, const std::vector<std::string>& names, int signal_fd,
                  std::vector<HostOutcome>& outcomes) {
  return Fleet(request, names, signal_fd, outcomes).run();
}

}  // namespace rdcp::cli
