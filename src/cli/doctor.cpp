#include "cli/doctor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <memory>

#include "cli/agent_link.h"
#include "cli/doctor_report.h"
#include "cli/exit_status.h"
#include "cli/measure_paths.h"
#include "cli/report.h"
#include "cli/version.h"
#include "tree/examine.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;
using tree::Finding;
using tree::Level;

// An agent on the other host, for as long as it is asked.
class Visit {
 public:
  Visit(const Options& options, int signal_fd)
      : options_(options), signal_fd_(signal_fd), has_terminal_(has_terminal()) {}

  // Asks for everything. An error's cause is in the findings, too.
  io::Result<void> run();
  const std::vector<Finding>& findings() const { return findings_; }
  const std::vector<MeasuredPath>& paths() const { return paths_; }
  int signal() const { return signal_; }  // that ended it; 0: none

 private:
  io::Result<void> ask();
  io::Result<void> measure();
  io::Result<void> wait_until(const std::function<bool()>& done);
  io::Result<void> turn();
  io::Result<void> take_signal();
  void tell_of_rdcp();

  const Options& options_;
  const int signal_fd_;
  const bool has_terminal_;
  std::unique_ptr<AgentLink> link_;
  std::vector<Finding> findings_;
  std::vector<MeasuredPath> paths_;
  int signal_ = 0;
};

io::Result<void> Visit::run() {
  io::Result<void> asked = ask();
  if (!asked) findings_.push_back({Level::problem, "rdcp there", asked.error().message(), ""});
  if (link_) {
    if (!link_->gone) (void)link_->control().send(tree::Finish()).ok();
    link_->end(!asked);
  }
  return asked;
}

io::Result<void> Visit::ask() {
  auto link = AgentLink::start_remote(options_, *options_.doctor_host);
  if (!link) return link.error();
  link_ = std::move(*link);
  auto greeted = wait_until([this] { return link_->hello.has_value(); });
  if (!greeted) return greeted;
  tell_of_rdcp();
  (void)link_->control().send(tree::Examine()).ok();  // who is gone shows when it is read from
  auto examined = wait_until([this] { return link_->findings.has_value(); });
  if (!examined) return examined;
  const std::vector<Finding>& found = link_->findings->findings;
  findings_.insert(findings_.end(), found.begin(), found.end());
  return measure();
}

// Sends memory there from an agent of this process.
io::Result<void> Visit::measure() {
  auto here = AgentLink::start_local({});
  if (!here) return here.error();
  while (!(*here)->hello) {
    if (auto received = (*here)->receive(); !received) return received;
  }
  paths_ = measure_paths(options_, **here, *link_, signal_fd_);
  (void)(*here)->control().send(tree::Finish()).ok();
  pollfd signalled{signal_fd_, POLLIN, 0};
  return ::poll(&signalled, 1, 0) == 1 ? take_signal() : io::Result<void>();
}

void Visit::tell_of_rdcp() {
  findings_.push_back({Level::ok, runs_ssh(options_) ? "ssh" : options_.rsh.front(), "works", ""});
  const std::string& version = link_->hello->program_version;
  Finding rdcp{Level::ok, "rdcp there", "version " + version, ""};
  if (version != kVersion) {
    rdcp.level = Level::warning;
    rdcp.text += std::string(", and ") + kVersion + " here";
    rdcp.advice = "install the same version on both";
  }
  findings_.push_back(std::move(rdcp));
}

io::Result<void> Visit::wait_until(const std::function<bool()>& done) {
  while (!done()) {
    if (auto turned = turn(); !turned) return turned;
  }
  return {};
}

// One round of waiting for the agent, a signal, or the end of our patience.
io::Result<void> Visit::turn() {
  constexpr int kLookEveryMs = 500;
  std::array<pollfd, 2> watched{pollfd{link_->control().fd(), POLLIN, 0}, pollfd{signal_fd_, POLLIN, 0}};
  if (::poll(watched.data(), watched.size(), kLookEveryMs) < 0 && errno != EINTR) {
    return io::errno_error("poll", link_->name(), errno, ErrorKind::connection);
  }
  if (watched[1].revents != 0) {
    if (auto taken = take_signal(); !taken) return taken;
  }
  if (watched[0].revents != 0) {
    if (auto received = link_->receive(); !received) return link_->explain(options_, received.error());
  }
  const std::chrono::seconds limit = silence_max(*link_, has_terminal_);
  if (std::chrono::steady_clock::now() - link_->heard <= limit) return {};
  return io::plain_error(ErrorKind::unreachable, "wait for", link_->name(),
                         "no answer for " + std::to_string(limit.count()) + " s");
}

io::Result<void> Visit::take_signal() {
  signalfd_siginfo info{};
  if (::read(signal_fd_, &info, sizeof info) != sizeof info) return {};
  if (info.ssi_signo == SIGTSTP) {
    (void)link_->control().send(tree::Suspend()).ok();
    ::kill(::getpid(), SIGSTOP);
    link_->heard = std::chrono::steady_clock::now();
    return {};
  }
  signal_ = static_cast<int>(info.ssi_signo);
  return io::plain_error(ErrorKind::interrupted, "examine", link_->name(), "ended by a signal");
}

}  // namespace

int run_doctor(const Options& options, int signal_fd) {
  std::vector<HostReport> hosts{{"this host", tree::examine(tree::host_facts())}};
  bool reached = true;
  std::vector<MeasuredPath> paths;
  if (options.doctor_host) {
    Visit visit(options, signal_fd);
    reached = visit.run().ok();
    if (visit.signal() != 0) return kExitSignalBase + visit.signal();
    const std::string name = options.doctor_host->ssh_destination();
    hosts.push_back({name, visit.findings()});
    if (!visit.paths().empty()) hosts.push_back(path_report(name, visit.paths()));
    paths = visit.paths();
  }
  const std::string report = options.json ? report_json(hosts, paths) : report_text(hosts);
  const bool printed = std::fwrite(report.data(), 1, report.size(), stdout) == report.size();
  if (std::fflush(stdout) != 0 || !printed) {
    std::fputs(error_line(io::errno_error("write", "standard output")).c_str(), stderr);
    return kExitFiles;
  }
  if (!reached) return kExitUnreachable;
  return has_problem(hosts) ? kExitFiles : kExitOk;
}

}  // namespace rdcp::cli
