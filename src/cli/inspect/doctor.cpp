#include "cli/inspect/doctor.h"

#include <poll.h>

#include <functional>
#include <utility>

#include "cli/agents/visit.h"
#include "cli/inspect/doctor_report.h"
#include "cli/inspect/measure_paths.h"
#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"
#include "cli/text/version.h"
#include "tree/doctor/examine.h"

namespace rdcp::cli {
namespace {

using tree::Finding;
using tree::Level;

// Examines the other host.
class OtherHost {
 public:
  OtherHost(const Options& options, int signal_fd)
      : options_(options), signal_fd_(signal_fd), visit_(options, signal_fd, "examine") {}

  // Asks the host for its findings, and measures the paths to it. An error is added to the findings, too.
  io::Result<void> examine();
  const std::vector<Finding>& findings() const { return findings_; }
  const std::vector<MeasuredPath>& paths() const { return paths_; }
  int signal() const { return visit_.signal(); }  // the one that ended the visit; 0: none

 private:
  io::Result<void> ask();
  io::Result<void> measure();
  io::Result<void> wait_until(const std::function<bool()>& done);
  void tell_of_rdcp();

  const Options& options_;
  const int signal_fd_;
  Visit visit_;
  std::vector<Finding> findings_;
  std::vector<MeasuredPath> paths_;
};

io::Result<void> OtherHost::examine() {
  io::Result<void> asked = ask();
  if (!asked) findings_.push_back({Level::problem, "rdcp there", asked.error().message(), ""});
  visit_.end(asked.ok());
  return asked;
}

io::Result<void> OtherHost::ask() {
  auto link = AgentLink::start_remote(options_, *options_.doctor_host);
  if (!link) return link.error();
  visit_.begin(std::move(*link));
  auto greeted = wait_until([this] { return visit_.link().hello.has_value(); });
  if (!greeted) return greeted;
  tell_of_rdcp();
  visit_.link().tell(tree::Examine());  // an agent that is gone shows when it is read from
  auto examined = wait_until([this] { return visit_.link().findings.has_value(); });
  if (!examined) return examined;
  const std::vector<Finding>& found = visit_.link().findings->findings;
  findings_.insert(findings_.end(), found.begin(), found.end());
  return measure();
}

// Measures the paths to the host, from an agent in this process.
io::Result<void> OtherHost::measure() {
  auto here = AgentLink::start_local({});
  if (!here) return here.error();
  while (!(*here)->hello) {
    if (auto received = (*here)->receive(); !received) return received;
  }
  paths_ = measure_paths(options_, **here, visit_.link(), signal_fd_);
  (*here)->tell(tree::Finish());
  pollfd signalled{signal_fd_, POLLIN, 0};
  return ::poll(&signalled, 1, 0) == 1 ? visit_.take_signal() : io::Result<void>();
}

void OtherHost::tell_of_rdcp() {
  findings_.push_back({Level::ok, runs_ssh(options_) ? "ssh" : options_.rsh.front(), "works", ""});
  const std::string& version = visit_.link().hello->program_version;
  Finding rdcp{Level::ok, "rdcp there", "version " + version, ""};
  if (version != kVersion) {
    rdcp.level = Level::warning;
    rdcp.text += std::string(", and ") + kVersion + " here";
    rdcp.advice = "install the same version on both";
  }
  findings_.push_back(std::move(rdcp));
}

io::Result<void> OtherHost::wait_until(const std::function<bool()>& done) {
  while (!done()) {
    if (auto turned = visit_.turn(); !turned) return turned;
  }
  return {};
}

}  // namespace

int run_doctor(const Options& options, int signal_fd) {
  std::vector<HostReport> hosts{{"this host", tree::examine(tree::host_facts())}};
  bool reached = true;
  std::vector<MeasuredPath> paths;
  if (options.doctor_host) {
    OtherHost other(options, signal_fd);
    reached = other.examine().ok();
    if (other.signal() != 0) return kExitSignalBase + other.signal();
    const std::string name = options.doctor_host->ssh_destination();
    hosts.push_back({name, other.findings()});
    if (!other.paths().empty()) hosts.push_back(path_report(name, other.paths()));
    paths = other.paths();
  }
  const std::string report = options.json ? report_json(hosts, paths) : report_text(hosts);
  if (const auto printed = write_to_stdout(report); !printed) {
    write_to_stderr(error_line(printed.error()));
    return kExitFiles;
  }
  if (!reached) return kExitUnreachable;
  return has_problem(hosts) ? kExitFiles : kExitOk;
}

}  // namespace rdcp::cli
