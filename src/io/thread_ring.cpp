#include "io/thread_ring.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <utility>

namespace rdcp::io {
namespace {

// One thread keeps a memory filesystem busy; a disk wants several calls under way.
constexpr unsigned kThreadsMax = 4;

// True for a pipe, socket or terminal, where a call may have to wait for the other end.
bool may_block(const Operation& operation) {
  if (operation.rest_offset() != kNoOffset) return false;
  struct stat status;
  return ::fstat(operation.file().fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode);
}

// Writes no more than can be written without waiting. RWF_NOWAIT works on sockets, and on pipes since Linux
// 6.4. Otherwise POLLOUT promises room for PIPE_BUF bytes (pipe(7)).
long write_without_waiting(const Operation& operation) {
  const int fd = operation.file().fd;
  const iovec rest = {operation.rest(), operation.rest_bytes()};
  long result = ::pwritev2(fd, &rest, 1, -1, RWF_NOWAIT);
  if (result < 0 && errno == EOPNOTSUPP) {
    result = ::write(fd, operation.rest(), std::min<std::size_t>(operation.rest_bytes(), PIPE_BUF));
  }
  return result < 0 ? -errno : result;
}

long transfer(const Operation& operation) {
  const bool write = operation.kind() == Operation::Kind::write;
  return write && may_block(operation) ? write_without_waiting(operation) : operation.call();
}

timespec to_timespec(Clock::duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(duration - seconds).count()};
}

}  // namespace

Result<std::unique_ptr<Ring>> ThreadRing::create(unsigned depth, std::string_view reason) {
  std::unique_ptr<ThreadRing> ring(new ThreadRing(reason));
  if (Result<void> opened = ring->open_wake_fd(); !opened) return std::move(opened).error();
  ring->poll_fds_.reserve(depth + 1);
  ring->polled_.reserve(depth);
  ring->poll_fds_.push_back({ring->wake_fd(), POLLIN, 0});
  Result<void> started = ring->start_threads(std::clamp(depth, 1U, kThreadsMax));
  if (!started) return std::move(started).error();
  return std::unique_ptr<Ring>(std::move(ring));
}

Result<void> ThreadRing::start_threads(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    auto thread = Thread::start("an I/O thread", [this] { work(); });
    if (!thread) return std::move(thread).error();
    threads_.push_back(std::move(*thread));
  }
  return {};
}

ThreadRing::~ThreadRing() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (Thread& thread : threads_) thread.join();
}

std::string ThreadRing::description() const {
  return reason_.empty() ? "thread pool" : "thread pool (" + reason_ + ")";
}

void ThreadRing::submit(Operation& operation) {
  if (operation.kind() == Operation::Kind::poll || may_block(operation)) {
    poll_once(operation);
  } else {
    give_to_pool(operation);
  }
}

void ThreadRing::poll_once(Operation& operation) {
  short events = operation.events();
  if (operation.kind() == Operation::Kind::read) events = POLLIN;
  if (operation.kind() == Operation::Kind::write) events = POLLOUT;
  poll_fds_.push_back({operation.file().fd, events, 0});
  polled_.push_back(&operation);
}

void ThreadRing::give_to_pool(Operation& operation) {
  {
    const std::lock_guard lock(mutex_);
    pending_.push(operation);
  }
  changed_.notify_one();
}

// The loop of a pool thread.
void ThreadRing::work() {
  while (Operation* operation = next_pending()) {
    operation->set_note(transfer(*operation));
    {
      const std::lock_guard lock(mutex_);
      finished_.push(*operation);
    }
    wake();
  }
}

// Returns nullptr when the ring is being destroyed.
Operation* ThreadRing::next_pending() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
  return stopping_ ? nullptr : static_cast<Operation*>(pending_.pop());
}

Result<void> ThreadRing::wait(Clock::duration max_wait) {
  const bool finished_some = take_finished();
  const timespec timeout = to_timespec(finished_some ? Clock::duration::zero() : max_wait);
  const int ready = ::ppoll(poll_fds_.data(), poll_fds_.size(), &timeout, nullptr);
  if (ready < 0) return errno == EINTR ? Result<void>() : errno_error("poll", "");
  if (ready == 0) return {};
  // The wake descriptor is drained before the list is looked at, so that whoever adds to the list afterwards
  // wakes us again.
  if (poll_fds_[0].revents != 0) drain_wake_fd();
  take_finished();
  take_polled();
  return {};
}

bool ThreadRing::take_finished() {
  bool any = false;
  while (true) {
    std::unique_lock lock(mutex_);
    auto* operation = static_cast<Operation*>(finished_.pop());
    lock.unlock();
    if (operation == nullptr) return any;
    any = true;
    complete(*operation, operation->note());
  }
}

// Goes from the back, because what complete() submits again is appended and has not been polled yet, and
// because the last element takes the place of one that is removed.
void ThreadRing::take_polled() {
  for (std::size_t i = polled_.size(); i-- > 0;) {
    const short events = poll_fds_[i + 1].revents;
    if (events == 0) continue;
    Operation& operation = *polled_[i];
    poll_fds_[i + 1] = poll_fds_.back();
    poll_fds_.pop_back();
    polled_[i] = polled_.back();
    polled_.pop_back();
    if ((events & POLLNVAL) != 0) {
      complete(operation, -EBADF);
    } else if (operation.kind() == Operation::Kind::poll) {
      complete(operation, events);
    } else {
      give_to_pool(operation);
    }
  }
}

}  // namespace rdcp::io
