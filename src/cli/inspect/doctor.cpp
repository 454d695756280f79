#include "cli/inspect/doctor.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/agents/latecomers.h"
#include "cli/inspect/doctor_report.h"
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
  Location place;
  AgentSession* session = nullptr;  // until it is not needed any more
  bool asked = false;
  std::optional<tree::Findings> found = {};  // by the agent there
  std::vector<Finding> findings = {};
  std::vector<MeasuredPath> paths = {};
  std::optional<io::Error> error = {};  // why it is not known in full
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
  io::Result<void> start_all();
  void start(OtherHost& host);
  bool is_over(OtherHost& host);
  bool all_over();
  void leave_late();
  void ask(OtherHost& host);
  void leave(OtherHost& host, const io::Error& error);
  io::Result<void> measure(OtherHost& host);

  const Options& options_;
  Inquiry inquiry_;
  Latecomers latecomers_;
  std::deque<OtherHost> hosts_;
};

Examination::Examination(const Options& options, const std::vector<Location>& hosts, int signal_fd)
    : options_(options), inquiry_(signal_fd, "examine") {
  for (const Location& host : hosts) hosts_.push_back({.place = host});
}

void Examination::run() {
  auto asked = start_all();
  if (asked) asked = inquiry_.wait_for_all([this] { return all_over(); });
  for (OtherHost& host : hosts_) {
    if (!asked || signal() != 0 || host.error) continue;
    host.findings.insert(host.findings.end(), host.found->findings.begin(), host.found->findings.end());
    if (const auto measured = measure(host); !measured) leave(host, measured.error());
  }
  inquiry_.end(asked.ok() && signal() == 0);
}

// Error: a signal.
io::Result<void> Examination::start_all() {
  for (OtherHost& host : hosts_) {
    (void)inquiry_.loop().await_logins();
    const auto has_room = [this] { return all_over() || inquiry_.loop().has_room_for_login(); };
    if (auto waited = inquiry_.wait_for_all(has_room); !waited) return waited;
    start(host);
  }
  (void)inquiry_.loop().await_logins();
  return {};
}

void Examination::start(OtherHost& host) {
  auto started = AgentSession::start_remote(options_.shell, host.place);
  if (!started) return leave(host, started.error());
  host.session = &inquiry_.add(std::move(*started));
  host.session->on<tree::Findings>([&host](tree::Findings& said) { host.found = std::move(said); });
}

// Goes on with all that have been started. Returns true if nothing more is waited for.
bool Examination::all_over() {
  leave_late();
  bool all = true;
  for (OtherHost& host : hosts_) all = is_over(host) && all;
  return all;
}

bool Examination::is_over(OtherHost& host) {
  if (host.session == nullptr) return host.error.has_value();
  if (host.session->hello() && !host.asked) ask(host);
  if (host.found) return true;
  const io::Error* const failure = inquiry_.failure_of(*host.session);
  if (failure != nullptr) leave(host, io::Error(*failure));
  return failure != nullptr;
}

// One that is slow to log in does not keep the report from whoever waits for that of the others.
void Examination::leave_late() {
  for (const AgentSession* const session : latecomers_.find(inquiry_.loop().sessions())) {
    const auto host = std::ranges::find(hosts_, session, &OtherHost::session);
    if (host == hosts_.end()) continue;
    leave(*host, io::plain_error(io::ErrorKind::unreachable, "wait for", session->name(),
                                 "no answer, while other hosts have answered; examine it alone"));
  }
}

void Examination::leave(OtherHost& host, const io::Error& error) {
  host.findings.push_back({Level::problem, "rdcp there", error.message(), ""});
  host.error = error;
  if (host.session != nullptr) inquiry_.drop(*std::exchange(host.session, nullptr), false);
}

void Examination::ask(OtherHost& host) {
  host.asked = true;
  host.findings.push_back(
      {Level::ok, runs_ssh(options_.shell) ? "ssh" : options_.shell.rsh.front(), "works", ""});
  const std::string& version = host.session->hello()->program_version;
  Finding rdcp{Level::ok, "rdcp there", "version " + version, ""};
  if (version != kVersion) {
    rdcp.level = Level::warning;
    rdcp.text += std::string(", and ") + kVersion + " here";
    rdcp.advice = "install the same version on both";
  }
  host.findings.push_back(std::move(rdcp));
  host.session->tell(tree::Examine());  // an agent that is gone shows when it is read from
}

// Measures the paths to the host, from an agent in this process.
io::Result<void> Examination::measure(OtherHost& host) {
  auto started =
      AgentSession::start_thread({.confinement = confinement(options_.shell, tree::Confinement::of_thread)});
  if (!started) return started.error();
  AgentSession& here = inquiry_.add(std::move(*started));
  const auto greeted = inquiry_.wait_for({&here}, [&] { return here.hello().has_value(); });
  if (greeted) host.paths = measure_paths(options_, inquiry_, here, *host.session);
  for (MeasuredPath& path : host.paths) path.host = host.place.ssh_destination();
  inquiry_.drop(here, greeted.ok());
  if (!greeted) return greeted;
  inquiry_.drop(*std::exchange(host.session, nullptr), true);
  return {};
}

std::vector<Location> hosts_to_examine(const Options& options) {
  if (options.host_words.any()) return targets_of(options);
  return options.doctor_host ? std::vector{*options.doctor_host} : std::vector<Location>();
}

}  // namespace

int run_doctor(const Options& options, int signal_fd) {
  std::vector<HostReport> reports{{"this host", tree::examine(tree::host_facts())}};
  if (options.traffic_class) {
    reports.front().findings.push_back({Level::ok, "--tos",
                                        "packets of copies carry " +
                                            describe_traffic_class(*options.traffic_class) +
                                            ", whatever default_roce_tos says",
                                        ""});
  }
  std::vector<MeasuredPath> paths;
  Examination examination(options, hosts_to_examine(options), signal_fd);
  examination.run();
  if (examination.signal() != 0) return kExitSignalBase + examination.signal();
  for (const OtherHost& host : examination.hosts()) {
    const std::string name = host.place.ssh_destination();
    reports.push_back({name, host.findings});
    if (!host.paths.empty()) reports.push_back(path_report(name, host.paths));
    paths.insert(paths.end(), host.paths.begin(), host.paths.end());
  }
  const std::string report = options.json ? report_json(reports, paths) : report_text(reports);
  if (const auto printed = write_to_stdout(report); !printed) {
    write_to_stderr(error_line(printed.error()));
    return kExitFiles;
  }
  const auto failed = [](const OtherHost& host) { return host.error.has_value(); };
  const auto& others = examination.hosts();
  if (!others.empty() && std::ranges::all_of(others, failed)) return kExitUnreachable;
  return has_problem(reports) ? kExitFiles : kExitOk;
}

}  // namespace rdcp::cli
