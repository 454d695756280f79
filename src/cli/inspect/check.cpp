#include "cli/inspect/check.h"

#include <fmt/core.h>

#include <chrono>

#include "cli/inspect/check_party.h"
#include "cli/inspect/differences.h"
#include "cli/inspect/list_check.h"
#include "cli/inspect/pair_check.h"
#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"

namespace rdcp::cli {

int run_check(const Options& options, int signal_fd, JsonReport* json) {
  const auto begun = std::chrono::steady_clock::now();
  CheckParty party(options, signal_fd, json);
  Differences differences(options.json.has_value(),
                          [&](std::string_view lines) { return print_out(lines, party.sessions()); });
  CheckCounts counts;
  const bool with_list = !options.manifest_file.empty() || !options.sums_file.empty();
  const bool whole = with_list ? ListCheck(options, party, differences, counts).run()
                               : PairCheck(options, party, differences, counts).run();
  if (const auto finished = differences.finish(); !finished) {
    write_to_stderr(error_line(finished.error(), options.program));
    party.raise(kExitFiles);
  }
  if (differences.count() > 0) party.raise(kExitFiles);
  if (json != nullptr) {
    json->count("entries", counts.entries);
    json->count("bytes", counts.bytes);
    json->count("differences", differences.count());
  }
  if (options.verbose && whole) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    write_to_stderr(fmt::format("{}: compared {}, {} on each side, in {:.3f} s: {}\n", options.program,
                                plural(counts.entries, "entry", "entries"), format_bytes(counts.bytes),
                                seconds, plural(differences.count(), "difference", "differences")));
  }
  return party.status();
}

}  // namespace rdcp::cli
