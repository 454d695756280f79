#include "cli/inspect/clean.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/agents/agent_run.h"
#include "cli/inspect/inquiry.h"
#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "cli/text/report.h"
#include "tree/messages/clean_job.h"

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
  Cleaning(const Options& options, int signal_fd) : options_(options), inquiry_(signal_fd, "clean") {}
  int run();

 private:
  io::Result<void> ask();
  void print(const tree::Leftovers& leftovers);

  const Options& options_;
  Inquiry inquiry_;
  bool asked_ = false;
  bool cleaned_ = false;  // the last leftovers have come
  bool told_unlocked_ = false;
  int status_ = kExitOk;
};

int Cleaning::run() {
  inquiry_.on_problem([this](const AgentSession& session, const tree::Problem& problem) {
    inquiry_.print_problem("rdcp: " + session.problem_prefix() + problem.text + "\n");
    status_ = std::max(status_, exit_status(problem.kind));
  });
  const io::Result<void> asked = ask();
  if (inquiry_.signal() != 0) {
    status_ = kExitSignalBase + inquiry_.signal();
  } else if (!asked) {
    inquiry_.print_problem(error_line(asked.error()));
    status_ = exit_status(asked.error().kind);
  }
  inquiry_.end(asked.ok());
  return status_;
}

io::Result<void> Cleaning::ask() {
  auto started = is_remote(options_.clean_directory)
                     ? AgentSession::start_remote(options_.shell, options_.clean_directory)
                     : AgentSession::start_thread(
                           {.confinement = confinement(options_.shell, tree::Confinement::of_thread)});
  if (!started) return started.error();
  AgentSession& agent = inquiry_.add(std::move(*started));
  agent.on<tree::Leftovers>([this](const tree::Leftovers& leftovers) {
    print(leftovers);
    cleaned_ = leftovers.last;
  });
  return inquiry_.wait_until([&] {
    if (agent.hello() && !std::exchange(asked_, true)) {
      agent.tell(tree::CleanJob{.path = options_.clean_directory.path, .remove = !options_.sync.dry_run});
    }
    return cleaned_;
  });
}

void Cleaning::print(const tree::Leftovers& leftovers) {
  std::string lines;
  for (const tree::Leftover& leftover : leftovers.found) {
    if (leftover.unlocked && !std::exchange(told_unlocked_, true)) {
      inquiry_.print_problem("rdcp: warning: " + options_.clean_directory.path +
                             ": the filesystem has no file locks (flock), so rdcp cannot tell whether a run "
                             "still uses what was found\n");
    }
    if (!options_.quiet) lines += line_of(leftover);
  }
  if (const auto printed = inquiry_.print(lines); !printed) inquiry_.fail(printed.error());
}

}  // namespace

int run_clean(const Options& options, int signal_fd) {
  return Cleaning(options, signal_fd).run();
}

}  // namespace rdcp::cli
