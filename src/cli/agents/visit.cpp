#include "cli/agents/visit.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

namespace rdcp::cli {

using io::ErrorKind;

Visit::Visit(const Options& options, int signal_fd, std::string what)
    : options_(options), signal_fd_(signal_fd), what_(std::move(what)), has_terminal_(has_terminal()) {}

io::Result<void> Visit::turn() {
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

io::Result<void> Visit::take_signal() {
  signalfd_siginfo info{};
  if (::read(signal_fd_, &info, sizeof info) != sizeof info) return {};
  if (info.ssi_signo == SIGTSTP) {
    link_->tell(tree::Suspend());
    ::kill(::getpid(), SIGSTOP);
    link_->heard = std::chrono::steady_clock::now();
    return {};
  }
  signal_ = static_cast<int>(info.ssi_signo);
  return io::plain_error(ErrorKind::interrupted, what_, link_->name(), "ended by a signal");
}

void Visit::end(bool completed) {
  if (!link_) return;
  if (!link_->gone) link_->tell(tree::Finish());
  link_->end(!completed);
}

}  // namespace rdcp::cli
