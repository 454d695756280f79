#include "cli/inspect/doctor.h"

#include <optional>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/inspect/doctor_report.h"
#include "cli/inspect/inquiry.h"
#include "cli/inspect/measure_paths.h"
#include "cli/options/destination.h"
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
  // Both are the caller's, and outlive this.
  OtherHost(const Options& options, const Location& host, int signal_fd)
      : options_(options), host_(host), inquiry_(signal_fd, "examine") {}

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
  const Location& host_;
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
  auto started = AgentSession::start_remote(options_.shell, host_);
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
  for (MeasuredPath& path : paths_) path.host = host_.ssh_destination();
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

std::vector<Location> hosts_to_examine(const Options& options) {
  if (options.host_words.any()) return targets_of(options);
  return options.doctor_host ? std::vector{*options.doctor_host} : std::vector<Location>();
}

}  // namespace

int run_doctor(const Options& options, int signal_fd) {
  std::vector<HostReport> reports{{"this host", tree::examine(tree::host_facts())}};
  std::vector<MeasuredPath> paths;
  const std::vector<Location> hosts = hosts_to_examine(options);
  std::size_t reached = 0;
  for (const Location& host : hosts) {
    OtherHost other(options, host, signal_fd);
    if (other.examine()) ++reached;
    if (other.signal() != 0) return kExitSignalBase + other.signal();
    const std::string name = host.ssh_destination();
    reports.push_back({name, other.findings()});
    if (!other.paths().empty()) reports.push_back(path_report(name, other.paths()));
    paths.insert(paths.end(), other.paths().begin(), other.paths().end());
  }
  const std::string report = options.json ? report_json(reports, paths) : report_text(reports);
  if (const auto printed = write_to_stdout(report); !printed) {
    write_to_stderr(error_line(printed.error()));
    return kExitFiles;
  }
  if (reached == 0 && !hosts.empty()) return kExitUnreachable;
  return has_problem(reports) ? kExitFiles : kExitOk;
}

}  // namespace rdcp::cli
