#include "cli/clean.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/agent_link.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/report.h"

namespace rdcp::cli {
namespace {

using io::ErrorKind;

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

// "partial file, 1.2 GB, 3 hours old: dir/.rdcp-....journal (of dir/big)".
std::string line_of(const tree::Leftover& leftover) {
  std::string line = fmt::format("{}{}, {}, {} old: {}", leftover.in_use ? "in use, left alone: " : "",
                                 describe(leftover.kind), format_bytes(leftover.bytes),
                                 age_of(leftover.age_seconds), io::printable(leftover.path));
  if (!leftover.final_path.empty()) line += " (of " + io::printable(leftover.final_path) + ")";
  return line + "\n";
}

// One agent, asked once.
class Cleaning {
 public:
  Cleaning(const Options& options, int signal_fd)
      : options_(options), signal_fd_(signal_fd), has_terminal_(has_terminal()) {}
  int run();

 private:
  io::Result<void> ask();
  io::Result<void> turn();
  io::Result<void> take_signal();
  io::Result<void> take_words();

  const Options& options_;
  const int signal_fd_;
  const bool has_terminal_;
  std::unique_ptr<AgentLink> link_;
  bool asked_ = false;
  int status_ = kExitOk;
};

int Cleaning::run() {
  const io::Result<void> asked = ask();
  if (!asked && status_ < kExitSignalBase) {
    std::fputs(error_line(asked.error()).c_str(), stderr);
    status_ = exit_status(asked.error().kind);
  }
  if (link_) {
    if (!link_->gone) (void)link_->control().send(tree::Finish()).ok();
    link_->end(!asked);
  }
  return status_;
}

io::Result<void> Cleaning::ask() {
  auto link = is_remote(options_.clean_directory)
                  ? AgentLink::start_remote(options_, options_.clean_directory)
                  : AgentLink::start_local({});
  if (!link) return link.error();
  link_ = std::move(*link);
  while (!link_->cleaned) {
    if (link_->hello && !std::exchange(asked_, true)) {
      (void)link_->control()
          .send(tree::CleanJob{.path = options_.clean_directory.path, .remove = !options_.sync.dry_run})
          .ok();  // who is gone shows when it is read from
    }
    if (auto turned = turn(); !turned) return turned;
    if (auto taken = take_words(); !taken) return taken;
  }
  return {};
}

// One round of waiting for the agent, a signal, or the end of our patience.
io::Result<void> Cleaning::turn() {
  constexpr int kLookEveryMs = 500;
  std::array<pollfd, 2> watched{pollfd{link_->control().fd(), POLLIN, 0}, pollfd{signal_fd_, POLLIN, 0}};
  if (::poll(watched.data(), watched.size(), kLookEveryMs) < 0 && errno != EINTR) {
    return io::errno_error("poll", link_->name(), errno, ErrorKind::connection);
  }
  if (watched[1].revents != 0) {
    if (auto taken = take_signal(); !taken) return taken;
  }
  if (watched[0].revents != 0) {
    if (auto received = link_->receive(); !received) return link_->explain(options_, received.error());
  }
  const std::chrono::seconds limit = silence_max(*link_, has_terminal_);
  if (std::chrono::steady_clock::now() - link_->heard <= limit) return {};
  return io::plain_error(ErrorKind::unreachable, "wait for", link_->name(),
                         "no answer for " + std::to_string(limit.count()) + " s");
}

io::Result<void> Cleaning::take_words() {
  for (const tree::Problem& problem : std::exchange(link_->problems, {})) {
    std::fprintf(stderr, "rdcp: %s\n", problem.text.c_str());
    status_ = std::max(status_, exit_status(problem.kind));
  }
  for (const tree::Leftover& leftover : std::exchange(link_->leftovers, {})) {
    const std::string line = line_of(leftover);
    if (!options_.quiet && std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
      return io::errno_error("write", "standard output");
    }
  }
  if (std::fflush(stdout) != 0) return io::errno_error("write", "standard output");
  return {};
}

io::Result<void> Cleaning::take_signal() {
  signalfd_siginfo info{};
  if (::read(signal_fd_, &info, sizeof info) != sizeof info) return {};
  if (info.ssi_signo == SIGTSTP) {
    (void)link_->control().send(tree::Suspend()).ok();
    ::kill(::getpid(), SIGSTOP);
    link_->heard = std::chrono::steady_clock::now();
    return {};
  }
  status_ = kExitSignalBase + static_cast<int>(info.ssi_signo);
  return io::plain_error(ErrorKind::interrupted, "clean", link_->name(), "ended by a signal");
}

}  // namespace

int run_clean(const Options& options, int signal_fd) {
  return Cleaning(options, signal_fd).run();
}

}  // namespace rdcp::cli
