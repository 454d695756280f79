#include "cli/inspect/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "cli/inspect/check_party.h"
#include "cli/inspect/differences.h"
#include "cli/inspect/list_check.h"
#include "cli/inspect/pair_check.h"
#include "cli/options/destination.h"
#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"

namespace rdcp::cli {

namespace {

// The numbers of all hosts that are compared.
struct Total {
  CheckCounts counts;
  std::uint64_t differences = 0;
};

int check_one(const Options& options, int signal_fd, JsonReport* json, Total& total) {
  const auto begun = std::chrono::steady_clock::now();
  CheckParty party(options, signal_fd, json);
  const std::string host = options.host_words.any() ? options.destination.ssh_destination() : "";
  Differences differences(options.json.has_value(), host,
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
  total.counts.entries += counts.entries;
  total.counts.bytes += counts.bytes;
  total.differences += differences.count();
  if (options.verbose && whole) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    write_to_stderr(fmt::format("{}: {}compared {}, {} on each side, in {:.3f} s: {}\n", options.program,
                                host.empty() ? host : host + ": ", plural(counts.entries, "entry", "entries"),
                                format_bytes(counts.bytes), seconds,
                                plural(differences.count(), "difference", "differences")));
  }
  return party.status();
}

}  // namespace

// Hosts are compared one after the other, since SRC is read for each.
int run_check(const Options& options, int signal_fd, JsonReport* json) {
  Total total;
  int status = kExitOk;
  for (const Location& target : targets_of(options)) {
    if (status >= kExitSignalBase) break;
    Options one = options;
    one.destination = target;
    status = std::max(status, check_one(one, signal_fd, json, total));
  }
  if (json != nullptr) {
    json->count("entries", total.counts.entries);
    json->count("bytes", total.counts.bytes);
    json->count("differences", total.differences);
  }
  return status;
}

}  // namespace rdcp::cli
