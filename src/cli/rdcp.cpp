// rdcp: copies files and trees between hosts. See rdcp(1).

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include "cli/check.h"
#include "cli/clean.h"
#include "cli/coordinator.h"
#include "cli/copy_sums.h"
#include "cli/doctor.h"
#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/report.h"
#include "cli/selection.h"
#include "cli/version.h"
#include "tree/agent.h"
#include "tree/segment.h"

namespace {

bool same_place(const rdcp::cli::Location& a, const rdcp::cli::Location& b) {
  return a.kind == b.kind && a.user == b.user && a.host == b.host;
}

// One copy for each run of SRC on the same host; the status of the worst, or of the first that a signal
// ended.
int copy_all(const rdcp::cli::Options& options, int signal_fd, rdcp::cli::CopySums& sums) {
  int worst = rdcp::cli::kExitOk;
  auto begin = options.sources.begin();
  while (begin != options.sources.end() && worst < rdcp::cli::kExitSignalBase) {
    const auto end = std::find_if_not(begin, options.sources.end(),
                                      [&](const auto& source) { return same_place(source, *begin); });
    rdcp::cli::Options part = options;
    part.sources.assign(begin, end);
    part.into_directory = options.sources.size() > 1;
    rdcp::cli::Coordinator coordinator(part, signal_fd);
    if (sums.wanted()) coordinator.hear_sums([&](const rdcp::tree::SumLine& line) { sums.add(line); });
    worst = std::max(worst, coordinator.run());
    begin = end;
  }
  return worst;
}

// A copy that did not come to its end leaves no list.
int copy_and_list(const rdcp::cli::Options& options, int signal_fd, mode_t umask) {
  auto sums = rdcp::cli::CopySums::open(options, umask);
  int status = sums ? copy_all(options, signal_fd, *sums) : rdcp::cli::kExitFiles;
  auto listed = sums ? rdcp::io::Result<void>() : sums.error();
  if (sums && status <= rdcp::cli::kExitFiles) listed = sums->finish();
  if (listed) return status;
  rdcp::cli::write_to_stderr(rdcp::cli::error_line(listed.error()));
  return std::max(status, rdcp::cli::kExitFiles);
}

}  // namespace

int main(int argc, char** argv) {
  rdcp::cli::set_up_process();
  rdcp::cli::Parsed parsed = rdcp::cli::parse_options(argc, argv);
  if (parsed.exit_status) {
    return rdcp::cli::print_and_end("rdcp", parsed.text_out, parsed.text_err, *parsed.exit_status);
  }

  const int signal_fd = rdcp::cli::signals_as_descriptor(rdcp::cli::Suspend::by_descriptor);
  const mode_t umask = ::umask(0);  // modes come from the source
  parsed.options.umask = umask;
  rdcp::cli::raise_limits();
  if (parsed.options.agent) {
    const rdcp::tree::AgentEnd end =
        rdcp::tree::run_agent(rdcp::io::Fd(STDIN_FILENO), rdcp::io::Fd(STDOUT_FILENO),
                              {.program_version = rdcp::cli::kVersion,
                               .signal_fd = signal_fd,
                               .umask = umask,
                               .run_segment = rdcp::tree::run_segment});
    if (!end.complete) ::_exit(rdcp::cli::kExitFiles);
    return rdcp::cli::kExitOk;
  }
  if (parsed.options.clean) return rdcp::cli::run_clean(parsed.options, signal_fd);
  if (parsed.options.doctor) return rdcp::cli::run_doctor(parsed.options, signal_fd);
  if (const auto loaded = rdcp::cli::load_selection(parsed.options); !loaded) {
    rdcp::cli::write_to_stderr("rdcp: " + loaded.error().message() + "\n");
    return rdcp::cli::kExitUsage;
  }
  if (parsed.options.check) return rdcp::cli::run_check(parsed.options, signal_fd);
  return copy_and_list(parsed.options, signal_fd, umask);
}
