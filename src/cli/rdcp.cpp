// rdcp: copies files and trees between hosts. See rdcp(1).

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/check/check.h"
#include "cli/copy/copy_request.h"
#include "cli/inspect/clean.h"
#include "cli/inspect/complete.h"
#include "cli/inspect/doctor.h"
#include "cli/launch/launcher.h"
#include "cli/options/destination.h"
#include "cli/options/options.h"
#include "cli/options/selection.h"
#include "cli/programs.h"
#include "cli/runs/copy_sums.h"
#include "cli/runs/fleet.h"
#include "cli/runs/fleet_report.h"
#include "cli/runs/load_hosts.h"
#include "cli/runs/retries.h"
#include "cli/serve/bridge_end.h"
#include "cli/serve/serve.h"
#include "cli/settings/settings.h"
#include "cli/text/exit_status.h"
#include "cli/text/json_report.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"
#include "cli/text/version.h"
#include "io/named_place.h"

namespace {

// A reader that is gone is noticed at the last line.
void say(const std::string& lines) {
  (void)rdcp::cli::write_to_stdout(lines);
}

std::vector<std::string> texts_of(const std::vector<rdcp::cli::Location>& locations) {
  std::vector<std::string> texts;
  for (const auto& location : locations) texts.push_back(location.text());
  return texts;
}

// Copies to several hosts, and says what became of each. Returns the exit status.
int copy_to_all(const rdcp::cli::Options& options, const rdcp::cli::CopyRequest& request, int signal_fd) {
  std::vector<std::string> names;
  for (const rdcp::cli::Location& target : rdcp::cli::targets_of(options))
    names.push_back(target.ssh_destination());
  std::vector<rdcp::cli::HostOutcome> outcomes;
  int status = rdcp::cli::copy_to_hosts(request, names, signal_fd, options.retries, outcomes);
  rdcp::cli::JsonReport* const json = request.view.json;
  if (status != rdcp::cli::kExitOk || options.verbose)
    rdcp::cli::write_to_stderr(rdcp::cli::host_lines(names, outcomes));
  if (json != nullptr) say(rdcp::cli::tell_hosts(names, outcomes, *json));
  if (options.failed_hosts.empty()) return status;
  const auto written = rdcp::cli::write_failed_hosts(options.failed_hosts, names, outcomes, options.umask);
  if (written) return status;
  rdcp::cli::write_to_stderr(rdcp::cli::error_line(written.error()));
  if (json != nullptr) say(json->problem(rdcp::cli::json_problem(written.error())));
  return std::max(status, rdcp::cli::kExitFiles);
}

// Makes one copy for each series of SRC on the same host. Returns the worst status; after a copy that a
// signal ended there are no more.
int copy_all(const rdcp::cli::Options& options, int signal_fd, rdcp::cli::CopySums& sums,
             rdcp::cli::JsonReport* json) {
  int worst = rdcp::cli::kExitOk;
  std::vector<std::string> destinations = texts_of(options.further_destinations);
  destinations.insert(destinations.begin(), options.destination.text());
  auto begin = options.sources.begin();
  while (begin != options.sources.end() && worst < rdcp::cli::kExitSignalBase) {
    const auto end = std::find_if_not(begin, options.sources.end(), [&](const auto& source) {
      return rdcp::cli::is_same_host(source, *begin);
    });
    rdcp::cli::Options part = options;
    part.sources.assign(begin, end);
    part.into_directory = options.sources.size() > 1;
    rdcp::cli::CopyRequest request = rdcp::cli::request_of(part);
    request.view.json = json;
    if (json != nullptr) say(json->start(texts_of(part.sources), destinations));
    if (sums.wanted()) request.hear_sum = [&](const rdcp::tree::SumLine& line) { sums.add(line); };
    worst = std::max(worst, !options.host_words.any()
                                ? rdcp::cli::copy_with_retries(request, signal_fd, options.retries)
                                : copy_to_all(part, request, signal_fd));
    begin = end;
  }
  return worst;
}

// Copies, and writes the lists of digests, unless the copy did not come to its end or was only tried (-n).
int copy_and_list(const rdcp::cli::Options& options, int signal_fd, mode_t umask,
                  rdcp::cli::JsonReport* json) {
  auto sums = options.sync.dry_run
                  ? rdcp::cli::CopySums()
                  : rdcp::cli::CopySums::open(options.manifest_file, options.sums_file, umask);
  int status = sums ? copy_all(options, signal_fd, *sums, json) : rdcp::cli::kExitFiles;
  auto listed = sums ? rdcp::io::Result<void>() : sums.error();
  if (sums && status <= rdcp::cli::kExitFiles) listed = sums->finish();
  if (listed) return status;
  rdcp::cli::write_to_stderr(rdcp::cli::error_line(listed.error()));
  if (json != nullptr) say(json->problem(rdcp::cli::json_problem(listed.error())));
  return std::max(status, rdcp::cli::kExitFiles);
}

// Has the descriptor of this process that SRC or DST names be standard input or output, which is what the
// agent gets.
rdcp::io::Result<void> make_stream(rdcp::cli::Location& location, int stream) {
  if (location.kind != rdcp::cli::Location::Kind::standard_stream || location.path.empty()) return {};
  const int fd = rdcp::io::own_descriptor(location.path).value_or(stream);
  // Descriptors that rdcp itself has opened are all closed by exec(), inherited ones are not.
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags < 0 || (flags & FD_CLOEXEC) != 0) return rdcp::io::errno_error("open", location.path, EBADF);
  if (fd != stream && ::dup2(fd, stream) < 0) return rdcp::io::errno_error("open", location.path);
  // A reader sees the end when nobody else holds the writing end.
  if (fd > STDERR_FILENO) ::close(fd);
  location.path.clear();
  return {};
}

rdcp::io::Result<void> make_streams(rdcp::cli::Options& options) {
  for (rdcp::cli::Location& source : options.sources) {
    if (auto made = make_stream(source, STDIN_FILENO); !made) return made;
  }
  return make_stream(options.destination, STDOUT_FILENO);
}

// Copies or compares, and ends with the last line of --json.
int run(rdcp::cli::Options& options, int signal_fd, mode_t umask) {
  std::optional<rdcp::cli::JsonReport> json;
  if (options.json) json.emplace(*options.json);
  rdcp::cli::JsonReport* const report = json ? &*json : nullptr;
  if (!options.bwlimit_warning.empty() && !options.quiet) {
    rdcp::cli::write_to_stderr("rdcp: " + options.bwlimit_warning + "\n");
    if (json) say(json->warning(options.bwlimit_warning));
  }
  int status = rdcp::cli::kExitUsage;
  auto loaded = make_streams(options);
  if (loaded) loaded = rdcp::cli::load_selection(options);
  if (!loaded) {
    rdcp::cli::write_to_stderr(rdcp::cli::error_line(loaded.error()));
    if (const int signal = rdcp::cli::end_is_asked_for()) status = rdcp::cli::kExitSignalBase + signal;
    if (json) say(json->problem(rdcp::cli::json_problem(loaded.error())));
  } else if (options.check) {
    status = rdcp::cli::run_check(options, signal_fd, report);
  } else {
    status = copy_and_list(options, signal_fd, umask, report);
  }
  rdcp::cli::write_to_log(fmt::format("rdcp: exit status {}\n", status));
  return json ? rdcp::cli::print_and_end("rdcp", json->end(status), "", status) : status;
}

// Opens the log of --log-file, which begins with what is to be done.
rdcp::io::Result<void> begin_log(const rdcp::cli::Options& options, mode_t umask) {
  if (options.log_file.empty()) return {};
  if (auto opened = rdcp::cli::open_log(options.log_file, umask); !opened) return opened;
  rdcp::cli::write_to_log(fmt::format("rdcp {}: {} to {}\n", rdcp::cli::kVersion,
                                      fmt::join(texts_of(options.sources), " "), options.destination.text()));
  return {};
}

// Gets the process ready for a run, and keeps what that has given.
struct Beginning {
  int signal_fd = -1;
  mode_t umask = 022;

  rdcp::io::Result<void> begin(rdcp::cli::Options& options) {
    signal_fd = rdcp::cli::signals_as_descriptor(rdcp::cli::Suspend::by_descriptor);
    if (options.max_runtime != 0) (void)::alarm(options.max_runtime);  // the descriptor takes its signal
    umask = ::umask(0);                                                // modes come from the source
    rdcp::cli::prepare_to_copy();
    if (auto begun = begin_log(options, umask); !begun) return begun;
    return rdcp::cli::load_hosts(options);
  }
};

}  // namespace

int rdcp::cli::rdcp_main(int argc, char** argv) {
  rdcp::cli::set_up_process();
  Beginning beginning;
  rdcp::cli::Parsed parsed = rdcp::cli::parse_with_settings(
      argc, argv, [&](rdcp::cli::Options& options) { return beginning.begin(options); });
  if (parsed.exit_status) {
    return rdcp::cli::print_and_end("rdcp", parsed.text_out, parsed.text_err, *parsed.exit_status);
  }
  const bool landlock = parsed.options.shell.landlock;
  if (parsed.options.agent && !parsed.options.bridge.empty())
    return rdcp::cli::serve_bridge(parsed.options.bridge, landlock);
  if (parsed.options.agent) return rdcp::cli::serve_coordinator(landlock);

  const int signal_fd = beginning.signal_fd;
  parsed.options.umask = beginning.umask;
  if (const auto ready = rdcp::cli::check_launcher(parsed.options.shell); !ready) {
    return rdcp::cli::print_and_end("rdcp", rdcp::cli::json_of_refusal(argc, argv, ready.error()),
                                    rdcp::cli::error_line(ready.error()), rdcp::cli::kExitUsage);
  }
  if (parsed.options.complete) return rdcp::cli::run_complete(parsed.options, signal_fd);
  if (parsed.options.clean) return rdcp::cli::run_clean(parsed.options, signal_fd);
  if (parsed.options.doctor) return rdcp::cli::run_doctor(parsed.options, signal_fd);
  return run(parsed.options, signal_fd, beginning.umask);
}
