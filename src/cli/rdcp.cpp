// rdcp: copies files and trees between hosts. See rdcp(1).

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sums.h"
#include "cli/copy/retries.h"
#include "cli/inspect/check.h"
#include "cli/inspect/clean.h"
#include "cli/inspect/doctor.h"
#include "cli/options/options.h"
#include "cli/options/selection.h"
#include "cli/options/settings.h"
#include "cli/serve/bridge_end.h"
#include "cli/serve/serve.h"
#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"

namespace {

bool same_place(const rdcp::cli::Location& a, const rdcp::cli::Location& b) {
  return a.kind == b.kind && a.user == b.user && a.host == b.host;
}

// Makes one copy for each series of SRC on the same host. Returns the worst status; after a copy that a
// signal ended there are no more.
int copy_all(const rdcp::cli::Options& options, int signal_fd, rdcp::cli::CopySums& sums) {
  int worst = rdcp::cli::kExitOk;
  auto begin = options.sources.begin();
  while (begin != options.sources.end() && worst < rdcp::cli::kExitSignalBase) {
    const auto end = std::find_if_not(begin, options.sources.end(),
                                      [&](const auto& source) { return same_place(source, *begin); });
    rdcp::cli::Options part = options;
    part.sources.assign(begin, end);
    part.into_directory = options.sources.size() > 1;
    rdcp::cli::CopyRequest request = rdcp::cli::request_of(part);
    if (sums.wanted()) request.hear_sum = [&](const rdcp::tree::SumLine& line) { sums.add(line); };
    worst = std::max(worst, rdcp::cli::copy_with_retries(request, signal_fd, options.retries));
    begin = end;
  }
  return worst;
}

// Copies, and writes the lists of digests, unless the copy did not come to its end.
int copy_and_list(const rdcp::cli::Options& options, int signal_fd, mode_t umask) {
  auto sums = rdcp::cli::CopySums::open(options.manifest_file, options.sums_file, umask);
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
  const auto words = rdcp::cli::with_settings(argc, argv);
  if (!words) {
    return rdcp::cli::print_and_end("rdcp", "", "rdcp: " + words.error().message() + "\n",
                                    rdcp::cli::exit_status(words.error().kind));
  }
  rdcp::cli::Parsed parsed = rdcp::cli::parse_options(words->argc(), words->argv());
  if (parsed.exit_status) {
    return rdcp::cli::print_and_end("rdcp", parsed.text_out, parsed.text_err, *parsed.exit_status);
  }
  const bool landlock = parsed.options.shell.landlock;
  if (parsed.options.agent && !parsed.options.bridge.empty())
    return rdcp::cli::serve_bridge(parsed.options.bridge, landlock);
  if (parsed.options.agent) return rdcp::cli::serve_coordinator(landlock);

  const int signal_fd = rdcp::cli::signals_as_descriptor(rdcp::cli::Suspend::by_descriptor);
  const mode_t umask = ::umask(0);  // modes come from the source
  parsed.options.umask = umask;
  rdcp::cli::raise_limits();
  if (parsed.options.clean) return rdcp::cli::run_clean(parsed.options, signal_fd);
  if (parsed.options.doctor) return rdcp::cli::run_doctor(parsed.options, signal_fd);
  if (const auto loaded = rdcp::cli::load_selection(parsed.options); !loaded) {
    rdcp::cli::write_to_stderr("rdcp: " + loaded.error().message() + "\n");
    return rdcp::cli::kExitUsage;
  }
  if (parsed.options.check) return rdcp::cli::run_check(parsed.options, signal_fd);
  return copy_and_list(parsed.options, signal_fd, umask);
}
