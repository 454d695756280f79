#include "cli/inspect/doctor.h"

#include <optional>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/inspect/doctor_report.h"
#include "cli/inspect/inquiry.h"
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
  OtherHost(const Options& options, int signal_fd) : options_(options), inquiry_(signal_fd, "examine") {}

  // Asks the host for its findings, and measures the paths to it. An error is added to the findings, too.
  io::Result<void> examine();
  const std::vector<Finding>& findings() const { return findings_; }
  const std::vector<MeasuredPath>& paths() const { return paths_; }
  int signal() const { return inquiry_.signal(); }  // the one that ended the inquiry; 0: none

 private:
  io::Result<void> ask();
  io::Result<void> measure(AgentSession& there);
  void tell_of_rdcp(const std::string& version);

  const Options& options_;
  Inquiry inquiry_;
  std::optional<tree::Findings> found_;  // by the agent there
  std::vector<Finding> findings_;
  std::vector<MeasuredPath> paths_;
};

io::Result<void> OtherHost::examine() {
  io::Result<void> asked = ask();
  if (!asked) findings_.push_back({Level::problem, "rdcp there", asked.error().message(), ""});
  inquiry_.end(asked.ok());
  return asked;
}

io::Result<void> OtherHost::ask() {
  auto started = AgentSession::start_remote(options_.shell, *options_.doctor_host);
  if (!started) return started.error();
  AgentSession& there = inquiry_.add(std::move(*started));
  there.on<tree::Findings>([this](tree::Findings& said) { found_ = std::move(said); });
  auto greeted = inquiry_.wait_until([&] { return there.hello().has_value(); });
  if (!greeted) return greeted;
  tell_of_rdcp(there.hello()->program_version);
  there.tell(tree::Examine());  // an agent that is gone shows when it is read from
  auto examined = inquiry_.wait_until([&] { return found_.has_value(); });
  if (!examined) return examined;
  findings_.insert(findings_.end(), found_->findings.begin(), found_->findings.end());
  return measure(there);
}

// Measures the paths to the host, from an agent in this process.
io::Result<void> OtherHost::measure(AgentSession& there) {
  auto started =
      AgentSession::start_thread({.confinement = confinement(options_.shell, tree::Confinement::of_thread)});
  if (!started) return started.error();
  AgentSession& here = inquiry_.add(std::move(*started));
  auto greeted = inquiry_.wait_until([&] { return here.hello().has_value(); });
  if (!greeted) return greeted;
  paths_ = measure_paths(options_, inquiry_, here, there);
  return {};
}

void OtherHost::tell_of_rdcp(const std::string& version) {
  findings_.push_back(
      {Level::ok, runs_ssh(options_.shell) ? "ssh" : options_.shell.rsh.front(), "works", ""});
  Finding rdcp{Level::ok, "rdcp there", "version " + version, ""};
  if (version != kVersion) {
    rdcp.level = Level::warning;
    rdcp.text += std::string(", and ") + kVersion + " here";
    rdcp.advice = "install the same version on both";
  }
  findings_.push_back(std::move(rdcp));
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
