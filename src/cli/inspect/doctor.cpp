#include "cli/inspect/doctor.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/inspect/doctor_report.h"
#include "cli/inspect/host_round.h"
#include "cli/inspect/inquiry.h"
#include "cli/inspect/measure_paths.h"
#include "cli/options/destination.h"
#include "cli/options/shared_options.h"
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

// Collects what is known of another host.
struct OtherHost {
  std::string name;
  std::optional<tree::Findings> found = {};  // by the agent there
  std::vector<Finding> findings = {};
  std::vector<MeasuredPath> paths = {};
  bool failed = false;  // it is not known in full
};

// Examines other hosts at the same time, and then measures the path to one after the other, because they have
// this host's end in common.
class Examination {
 public:
  // options outlives this.
  Examination(const Options& options, const std::vector<Location>& hosts, int signal_fd);

  // Asks each host for its findings, and measures the paths to it. Errors are added to the findings, too.
  void run();
  const std::deque<OtherHost>& hosts() const { return hosts_; }
  int signal() const { return inquiry_.signal(); }  // the one that ended the examination; 0: none

 private:
  void ask(std::size_t index, AgentSession& session);
  io::Result<void> measure(std::size_t index);

  const Options& options_;
  Inquiry inquiry_;
  HostRound round_;
  std::deque<OtherHost> hosts_;
};

Examination::Examination(const Options& options, const std::vector<Location>& hosts, int signal_fd)
    : options_(options),
      inquiry_(signal_fd, "examine"),
      round_(options.shell, inquiry_, hosts,
             [this](std::size_t i, AgentSession& session) { ask(i, session); }) {
  for (const Location& host : hosts) hosts_.push_back({.name = host.ssh_destination()});
}

void Examination::run() {
  const auto asked = round_.run();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    OtherHost& host = hosts_[i];
    if (host.found) {
      host.findings.insert(host.findings.end(), host.found->findings.begin(), host.found->findings.end());
      const bool goes_on = asked && signal() == 0;
      if (const auto measured = goes_on ? measure(i) : asked; !measured) round_.leave(i, measured.error());
    }
    const auto& error = round_.hosts()[i].error;
    if (error) host.findings.push_back({Level::problem, "rdcp there", error->message(), ""});
    host.failed = error.has_value();
  }
  inquiry_.end(asked.ok() && signal() == 0);
}

void Examination::ask(std::size_t index, AgentSession& session) {
  OtherHost& host = hosts_[index];
  host.findings.push_back(
      {Level::ok, runs_ssh(options_.shell) ? "ssh" : options_.shell.rsh.front(), "works", ""});
  const std::string& version = session.hello()->program_version;
  Finding rdcp{Level::ok, "rdcp there", "version " + version, ""};
  if (version != kVersion) {
    rdcp.level = Level::warning;
    rdcp.text += std::string(", and ") + kVersion + " here";
    rdcp.advice = "install the same version on both";
  }
  host.findings.push_back(std::move(rdcp));
  session.on<tree::Findings>([this, index](tree::Findings& said) {
    hosts_[index].found = std::move(said);
    round_.answered(index);
  });
  session.tell(tree::Examine());  // an agent that is gone shows when it is read from
}

// Measures the paths to the host, from an agent in this process.
io::Result<void> Examination::measure(std::size_t index) {
  OtherHost& host = hosts_[index];
  auto started =
      AgentSession::start_thread({.confinement = confinement(options_.shell, tree::Confinement::of_thread)});
  if (!started) return started.error();
  AgentSession& here = inquiry_.add(std::move(*started));
  const auto greeted = inquiry_.wait_for({&here}, [&] { return here.hello().has_value(); });
  if (greeted) host.paths = measure_paths(options_, inquiry_, here, *round_.hosts()[index].session);
  for (MeasuredPath& path : host.paths) path.host = host.name;
  inquiry_.drop(here, greeted.ok());
  if (!greeted) return greeted;
  round_.finish(index);
  return {};
}

std::vector<Location> hosts_to_examine(const Options& options) {
  if (options.host_words.any()) return targets_of(options);
  return options.doctor_host ? std::vector{*options.doctor_host} : std::vector<Location>();
}

}  // namespace

int run_doctor(const Options& options, int signal_fd) {
  const tree::HostFacts facts = tree::host_facts();
  const std::vector<Location> hosts = hosts_to_examine(options);
  std::vector<HostReport> reports{{"this host", tree::examine(facts)}};
  if (hosts.empty()) reports.front().outcome = outcome_of_facts(facts);
  if (options.traffic_class) {
    reports.front().findings.push_back({Level::ok, "--tos",
                                        "packets of copies carry " +
                                            describe_traffic_class(*options.traffic_class) +
                                            ", whatever default_roce_tos says",
                                        ""});
  }
  std::vector<MeasuredPath> paths;
  Examination examination(options, hosts, signal_fd);
  examination.run();
  if (examination.signal() != 0) return kExitSignalBase + examination.signal();
  for (const OtherHost& host : examination.hosts()) {
    reports.push_back({host.name, host.findings});
    if (!host.paths.empty()) reports.push_back(path_report(host.name, host.paths));
    paths.insert(paths.end(), host.paths.begin(), host.paths.end());
  }
  const std::string report = options.json ? report_json(reports, paths) : report_text(reports);
  if (const auto printed = write_to_stdout(report); !printed) {
    write_to_stderr(error_line(printed.error()));
    return kExitFiles;
  }
  const auto& others = examination.hosts();
  if (!others.empty() && std::ranges::all_of(others, &OtherHost::failed)) return kExitUnreachable;
  return has_problem(reports) ? kExitFiles : kExitOk;
}

}  // namespace rdcp::cli
