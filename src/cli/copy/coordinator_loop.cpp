// The coordinator's event loop: two control channels, signals, and the clock.

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "cli/agents/user_output.h"
#include "cli/copy/coordinator.h"
#include "cli/text/change_line.h"
#include "cli/text/exit_status.h"

namespace rdcp::cli {

using io::ErrorKind;

bool Coordinator::turn_until(const std::function<bool()>& done) {
  while (!done()) {
    if (!turn(Progress::kInterval)) return false;
  }
  return true;
}

// Runs one round of the loop. Returns false if the run is over.
bool Coordinator::turn(std::chrono::milliseconds max_wait) {
  const std::array<AgentLink*, 2> links{source_.get(), target_.get()};
  std::array<pollfd, 3> watched{pollfd{-1, POLLIN, 0}, pollfd{-1, POLLIN, 0}, pollfd{signal_fd_, POLLIN, 0}};
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i] != nullptr && !links[i]->gone) watched[i].fd = links[i]->control().fd();
  }
  if (::poll(watched.data(), watched.size(), static_cast<int>(max_wait.count())) < 0 && errno != EINTR) {
    return fail(io::errno_error("poll", "agents", errno, ErrorKind::connection)), false;
  }
  if (watched[2].revents != 0) take_signal();
  if (interrupted_) return false;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (watched[i].fd < 0 || watched[i].revents == 0) continue;
    const auto received = links[i]->receive();
    take_changes(*links[i]);
    pass_on_losses(*links[i], links[1 - i]);
    take_problems(*links[i]);
    for (const tree::Sums& sums : links[i]->sums.take()) {
      for (const tree::SumLine& line : sums.lines) {
        if (hear_sum_) hear_sum_(line);
      }
    }
    if (run_ended_) return false;
    if (!received && !lost(*links[i], received.error())) return false;
  }
  for (const AgentLink* link : links) {
    if (link != nullptr && silent(*link)) return false;
  }
  send_beats();
  show_progress();
  return true;
}

// Returns true, and reports it, if an agent has been silent for too long.
bool Coordinator::silent(const AgentLink& link) {
  if (link.gone || link.done || link.suspended) return false;
  const std::chrono::seconds limit = silence_max(link, has_terminal_);
  if (Clock::now() - link.heard <= limit) return false;
  fail(io::plain_error(link.hello ? ErrorKind::connection : ErrorKind::unreachable, "wait for", link.name(),
                       "its agent has not answered for " + std::to_string(limit.count()) + " s"));
  return true;
}

void Coordinator::take_signal() {
  signalfd_siginfo info{};
  if (::read(signal_fd_, &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo == SIGTSTP) {
    for (AgentLink* link : {source_.get(), target_.get()}) {
      if (link != nullptr && !link->gone) link->tell(tree::Suspend());
    }
    progress_.clear();
    ::kill(::getpid(), SIGSTOP);
    // This process runs again; agents do not count as silent for the time in which it was stopped.
    for (AgentLink* link : {source_.get(), target_.get()}) {
      if (link != nullptr) link->heard = Clock::now();
    }
    return;
  }
  interrupted_ = true;
  print(options_.program + ": ended by SIG" + ::sigabbrev_np(static_cast<int>(info.ssi_signo)) +
        "; files under their final names are complete, the rest was not copied\n");
  status_ = kExitSignalBase + static_cast<int>(info.ssi_signo);
}

void Coordinator::take_problems(AgentLink& link) {
  for (const tree::Problem& problem : link.problems.take()) {
    if (run_ended_) continue;
    const std::string text = link.problem_prefix() + problem.text;
    print(options_.program + ": " + text + "\n");
    if (parties_.tell) parties_.tell(problem.kind, text);
    status_ = std::max(status_, exit_status(problem.kind));
    run_ended_ = problem.ends_run;
  }
}

// Tells the other side of lost streams. There are no streams before begin(), so nothing that an agent says of
// them is true until then.
void Coordinator::pass_on_losses(AgentLink& link, AgentLink* other) {
  for (const tree::StreamLost& lost : link.lost_streams.take()) {
    const bool copies = begun_ != Clock::time_point{} && other != nullptr && !other->gone && !other->done;
    if (copies) other->tell(lost);
  }
}

void Coordinator::take_changes(AgentLink& link) {
  const std::vector<tree::Change> changes = link.changes.take();
  if (changes.empty() || parties_.tell) return;
  const bool sends = is_remote(options_.destination) && !is_remote(options_.sources.front());
  progress_.clear();
  std::string lines;
  for (const tree::Change& change : changes) {
    lines += options_.json ? change_json(change, sends) : change_line(change, sends);
  }
  print_lines(lines);
}

void Coordinator::print_lines(std::string_view lines) {
  if (const auto printed = print_out(lines, {source_.get(), target_.get()}); !printed) fail(printed.error());
}

// Handles the end of an agent, which is in order once the agent is done. Returns false if the run is over.
bool Coordinator::lost(AgentLink& link, const io::Error& error) {
  link.gone = true;
  if (link.done && error.kind != ErrorKind::protocol) return true;
  // The agent may have reported problems with files before, but they do not explain its end. A problem that
  // ends the run would have been seen before this.
  fail(link.explain(options_, error));
  return false;
}

void Coordinator::send_beats() {
  if (Clock::now() < next_beat_) return;
  next_beat_ = Clock::now() + tree::kBeatInterval;
  for (AgentLink* link : {source_.get(), target_.get()}) {
    if (link != nullptr && link->hello && !link->gone) link->tell(tree::Beat());
  }
}

void Coordinator::show_progress() {
  if (begun_ == Clock::time_point{} || source_ == nullptr) return;
  const tree::Progress& now = source_->progress;
  progress_.update({.bytes_done = now.bytes_done,
                    .bytes_total = now.bytes_total,
                    .files_done = now.files_done,
                    .files_total = now.files_total,
                    .walk_finished = now.total_known,
                    .path = now.path});
}

void Coordinator::fail(const io::Error& error) {
  status_ = std::max(status_, exit_status(error.kind));
  print(error_line(error, options_.program));
  if (parties_.tell) parties_.tell(error.kind, error.message());
}

void Coordinator::print(const std::string& text) {
  if (text.empty() || parties_.tell) return;
  progress_.clear();
  print_error(text, {source_.get(), target_.get()}, interrupted_);
}

}  // namespace rdcp::cli
