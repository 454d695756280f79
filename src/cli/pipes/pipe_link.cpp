#include "cli/pipes/pipe_link.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace rdcp::cli {

PipeLink::~PipeLink() {
  if (thread_.joinable()) {
    stop();
    thread_.join();
  }
}

io::Result<void> PipeLink::start(CopyRequest request) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return io::errno_error("make", "a pipe", errno, io::ErrorKind::unreachable);
  }
  stop_read_.reset(ends[0]);
  stop_write_.reset(ends[1]);
  request.view = {.quiet = true};
  request.view.tell = [this](io::ErrorKind kind, const std::string& text) { take_problem(kind, text); };
  request.view.remark = [this](const std::string& line) { take_remark(line); };
  auto thread = io::Thread::start("a stream", [this, request = std::move(request)]() mutable {
    Coordinator coordinator(std::move(request), stop_read_.get());
    status_ = coordinator.run();
    outcome_ = coordinator.outcome();
    over_ = true;
    wake_.signal();
  });
  if (!thread) return thread.error();
  thread_ = std::move(*thread);
  return {};
}

// The stream's coordinator reads signals from a descriptor, which here is a pipe of its own.
void PipeLink::stop() {
  if (!stop_write_ || std::exchange(stopped_, true)) return;
  signalfd_siginfo signal{};
  signal.ssi_signo = SIGTERM;
  [[maybe_unused]] const ssize_t written = ::write(stop_write_.get(), &signal, sizeof signal);
}

void PipeLink::take_problem(io::ErrorKind kind, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (kind == io::ErrorKind::reader_gone && !problem_) reader_gone_ = true;
  if (!reader_gone_ && !problem_) problem_ = Problem{kind, text};
}

void PipeLink::take_remark(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    remarks_ += from_ + " -> " + to_ + ": " + line;
  }
  wake_.signal();
}

std::string PipeLink::take_remarks() {
  const std::lock_guard lock(mutex_);
  return std::exchange(remarks_, {});
}

std::optional<PipeLink::Problem> PipeLink::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace rdcp::cli
