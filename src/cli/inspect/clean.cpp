#include "cli/inspect/clean.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/agents/visit.h"
#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "cli/text/report.h"

namespace rdcp::cli {
namespace {

const char* describe(tree::OwnName kind) {
  switch (kind) {
    case tree::OwnName::part:
    case tree::OwnName::journal:
      return "partial file";
    case tree::OwnName::run:
      return "unfinished run";
    default:
      return "temporary file";
  }
}

std::string age_of(std::uint64_t seconds) {
  if (seconds < 2 * 60) return plural(seconds, "second", "seconds");
  if (seconds < 2 * 60 * 60) return plural(seconds / 60, "minute", "minutes");
  if (seconds < 2 * 24 * 60 * 60) return plural(seconds / 60 / 60, "hour", "hours");
  return plural(seconds / 60 / 60 / 24, "day", "days");
}

// Returns "partial file, 1.2 GB, 3 hours old: dir/.rdcp-....journal (of dir/big)".
std::string line_of(const tree::Leftover& leftover) {
  std::string line = fmt::format("{}{}, {}, {} old: {}", leftover.in_use ? "in use, left alone: " : "",
                                 describe(leftover.kind), format_bytes(leftover.bytes),
                                 age_of(leftover.age_seconds), io::printable(leftover.path));
  if (!leftover.final_path.empty()) line += " (of " + io::printable(leftover.final_path) + ")";
  return line + "\n";
}

// Asks one agent to clean a directory.
class Cleaning {
 public:
  Cleaning(const Options& options, int signal_fd) : options_(options), visit_(options, signal_fd, "clean") {}
  int run();

 private:
  io::Result<void> ask();
  io::Result<void> take_words();

  const Options& options_;
  Visit visit_;
  bool asked_ = false;
  bool told_unlocked_ = false;
  int status_ = kExitOk;
};

int Cleaning::run() {
  const io::Result<void> asked = ask();
  if (visit_.signal() != 0) {
    status_ = kExitSignalBase + visit_.signal();
  } else if (!asked) {
    visit_.print(error_line(asked.error()));
    status_ = exit_status(asked.error().kind);
  }
  visit_.end(asked.ok());
  return status_;
}

io::Result<void> Cleaning::ask() {
  auto link = is_remote(options_.clean_directory)
                  ? AgentLink::start_remote(options_, options_.clean_directory)
                  : AgentLink::start_local({});
  if (!link) return link.error();
  visit_.begin(std::move(*link));
  while (!visit_.link().cleaned) {
    if (visit_.link().hello && !std::exchange(asked_, true)) {
      visit_.link().tell(
          tree::CleanJob{.path = options_.clean_directory.path, .remove = !options_.sync.dry_run});
    }
    if (auto turned = visit_.turn(); !turned) return turned;
    if (auto taken = take_words(); !taken) return taken;
  }
  return {};
}

io::Result<void> Cleaning::take_words() {
  for (const tree::Problem& problem : visit_.link().problems.take()) {
    visit_.print("rdcp: " + problem.text + "\n");
    status_ = std::max(status_, exit_status(problem.kind));
  }
  std::string lines;
  for (const tree::Leftover& leftover : visit_.link().leftovers.take()) {
    if (leftover.unlocked && !std::exchange(told_unlocked_, true)) {
      visit_.print("rdcp: warning: " + options_.clean_directory.path +
                   ": the filesystem has no file locks (flock), so rdcp cannot tell whether a run still uses "
                   "what was found\n");
    }
    if (!options_.quiet) lines += line_of(leftover);
  }
  return print_out(lines, {&visit_.link()});
}

}  // namespace

int run_clean(const Options& options, int signal_fd) {
  return Cleaning(options, signal_fd).run();
}

}  // namespace rdcp::cli
