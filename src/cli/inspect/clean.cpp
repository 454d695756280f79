#include "cli/inspect/clean.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/inspect/host_round.h"
#include "cli/inspect/inquiry.h"
#include "cli/options/destination.h"
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

// Returns "removing partial file, 1.2 GB, 3 hours old: dir/.rdcp-....journal (of dir/big)".
std::string line_of(const tree::Leftover& leftover, bool removes) {
  const char* const what = leftover.in_use ? "in use, left alone: " : removes ? "removing " : "";
  std::string line =
      fmt::format("{}{}, {}, {} old: {}", what, describe(leftover.kind), format_bytes(leftover.bytes),
                  age_of(leftover.age_seconds), io::printable(leftover.path));
  if (!leftover.final_path.empty()) line += " (of " + io::printable(leftover.final_path) + ")";
  return line + "\n";
}

// Has a directory cleaned, on one host or on several at the same time.
class Cleaning {
 public:
  Cleaning(const Options& options, int signal_fd);
  int run();

 private:
  void ask(std::size_t index, AgentSession& session);
  void hear_problem(const AgentSession& session, const tree::Problem& problem);
  void print(std::size_t index, const tree::Leftovers& leftovers);
  int status() const;

  const Options& options_;
  Inquiry inquiry_;
  HostRound round_;
  std::vector<std::string> prefixes_;  // of the lines of each host
  std::vector<int> statuses_;
  std::vector<bool> told_unlocked_;
};

Cleaning::Cleaning(const Options& options, int signal_fd)
    : options_(options),
      inquiry_(signal_fd, "clean"),
      round_(options.shell, inquiry_, targets_of(options),
             [this](std::size_t i, AgentSession& session) { ask(i, session); }),
      statuses_(round_.hosts().size(), kExitOk),
      told_unlocked_(round_.hosts().size()) {
  const bool several = options.host_words.any();
  for (const HostRound::Host& host : round_.hosts())
    prefixes_.push_back(several ? host.place.ssh_destination() + ": " : std::string());
  inquiry_.on_problem(
      [this](const AgentSession& session, const tree::Problem& problem) { hear_problem(session, problem); });
}

int Cleaning::run() {
  const io::Result<void> asked = round_.run();
  for (std::size_t i = 0; i < statuses_.size(); ++i) {
    const auto& error = round_.hosts()[i].error;
    if (!error) continue;
    inquiry_.print_problem(error_line(*error));
    statuses_[i] = exit_status(error->kind);
  }
  const bool ended = inquiry_.signal() != 0;
  if (!asked && !ended) inquiry_.print_problem(error_line(asked.error()));
  inquiry_.end(asked.ok());
  if (ended) return kExitSignalBase + inquiry_.signal();
  return asked ? status() : exit_status(asked.error().kind);
}

// Returns that of all, or kExitFiles where they ended in different ways.
int Cleaning::status() const {
  const auto [least, most] = std::ranges::minmax(statuses_);
  return least == most ? most : kExitFiles;
}

void Cleaning::ask(std::size_t index, AgentSession& session) {
  session.on<tree::Leftovers>([this, index](const tree::Leftovers& leftovers) {
    print(index, leftovers);
    if (leftovers.last) round_.answered(index);
  });
  session.tell(tree::CleanJob{.path = round_.hosts()[index].place.path, .remove = !options_.sync.dry_run});
}

void Cleaning::hear_problem(const AgentSession& session, const tree::Problem& problem) {
  inquiry_.print_problem("rdcp: " + session.problem_prefix() + problem.text + "\n");
  const auto host = std::ranges::find(round_.hosts(), &session, &HostRound::Host::session);
  if (host == round_.hosts().end()) return;
  int& status = statuses_[static_cast<std::size_t>(host - round_.hosts().begin())];
  status = std::max(status, exit_status(problem.kind));
}

void Cleaning::print(std::size_t index, const tree::Leftovers& leftovers) {
  std::string lines;
  for (const tree::Leftover& leftover : leftovers.found) {
    if (leftover.unlocked && !told_unlocked_[index]) {
      told_unlocked_[index] = true;
      inquiry_.print_problem("rdcp: warning: " + prefixes_[index] + round_.hosts()[index].place.path +
                             ": the filesystem has no file locks (flock), so rdcp cannot tell whether a run "
                             "still uses what was found\n");
    }
    if (!options_.quiet) lines += prefixes_[index] + line_of(leftover, !options_.sync.dry_run);
  }
  if (const auto printed = inquiry_.print(lines); !printed) inquiry_.fail(printed.error());
}

}  // namespace

int run_clean(const Options& options, int signal_fd) {
  return Cleaning(options, signal_fd).run();
}

}  // namespace rdcp::cli
