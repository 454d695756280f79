#include "io/ring.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "io/arena.h"
#include "io/thread_ring.h"
#include "io/uring.h"

namespace rdcp::io {
namespace {

// The list of sleeping coroutines has this much room before it grows: a worker has a few timers, and slots
// that wait.
constexpr std::size_t kSleepersExpected = 256;

// The kernel adds timeouts to its clock. One that is too long overflows there and would not wait at all.
constexpr Clock::duration kLongestWait = std::chrono::hours(24);

// O_DIRECT transfers stop at multiples of the logical block size, which is never smaller than this. Only the
// end of a file can be anywhere else.
constexpr std::size_t kSmallestBlockBytes = 512;

constexpr std::size_t whole_pages(std::size_t bytes) {
  return bytes / kPageBytes * kPageBytes;
}

// True if a read would not wait. The end of a pipe counts as something to be read.
bool more_is_there(int fd) {
  pollfd unread{fd, POLLIN, 0};
  return ::poll(&unread, 1, 0) > 0;
}

bool wakes_later(const Sleep* a, const Sleep* b) {
  return a->until() > b->until();
}

}  // namespace

bool Operation::await_ready() {
  if (kind_ == Kind::poll) return false;
  if (bytes_ == 0) return true;
  if (kind_ == Kind::write || !file_.resident) return false;
  while (!advance(call())) {
    if (blocked_) return false;
  }
  return true;
}

void Operation::await_suspend(std::coroutine_handle<> waiter) {
  handle = waiter;
  ring_.submit(*this);
}

short Operation::events() const {
  if (!blocked_) return events_;
  return kind_ == Kind::read ? POLLIN : POLLOUT;
}

long Operation::call() const {
  const int fd = file_.fd;
  long result;
  if (kind_ == Kind::read) {
    result = offset_ == kNoOffset ? ::read(fd, rest(), rest_bytes())
                                  : ::pread(fd, rest(), rest_bytes(), static_cast<off_t>(rest_offset()));
  } else {
    result = offset_ == kNoOffset ? ::write(fd, rest(), rest_bytes())
                                  : ::pwrite(fd, rest(), rest_bytes(), static_cast<off_t>(rest_offset()));
  }
  return result < 0 ? -errno : result;
}

bool Operation::advance(long result) {
  if (result == -EINTR) return false;
  if (result == -EAGAIN) {
    // A transfer on an O_NONBLOCK descriptor is tried again once poll says so, instead of spinning.
    blocked_ = kind_ != Kind::poll && !blocked_;
    return false;
  }
  if (result < 0) return fail(static_cast<int>(-result));
  if (blocked_) {
    blocked_ = false;
    return false;
  }
  const auto bytes = static_cast<std::size_t>(result);
  switch (kind_) {
    case Kind::read:
      return advance_read(bytes);
    case Kind::write:
      return advance_write(bytes);
    case Kind::poll:
      done_ = bytes;
      return true;
  }
  return true;
}

bool Operation::fail(int error) {
  error_ = error;
  return true;
}

bool Operation::advance_read(std::size_t bytes) {
  if (bytes == 0) {
    at_end_ = true;
    return true;
  }
  const bool complete = bytes == rest_bytes();
  if (!file_.direct || complete || bytes % kSmallestBlockBytes != 0) {
    done_ += bytes;
    return complete || file_.direct || (file_.live && !more_is_there(file_.fd));
  }
  // A short O_DIRECT read continues at a page boundary, since a disk with 4096-byte blocks takes no other
  // offset. Less than a page from such an offset is the end of the file.
  const std::size_t whole = whole_pages(bytes);
  done_ += whole > 0 ? whole : bytes;
  return whole == 0;
}

bool Operation::advance_write(std::size_t bytes) {
  if (bytes == rest_bytes()) {
    done_ += bytes;
    return true;
  }
  const std::size_t progress = file_.direct ? whole_pages(bytes) : bytes;
  // Nothing was written and there is no error. Trying again would do the same for ever.
  if (progress == 0) return fail(EIO);
  done_ += progress;
  return false;
}

void Sleep::await_suspend(std::coroutine_handle<> waiter) {
  handle = waiter;
  ring_.sleeping_.push_back(this);
  std::push_heap(ring_.sleeping_.begin(), ring_.sleeping_.end(), wakes_later);
}

Ring::Ring() {
  sleeping_.reserve(kSleepersExpected);
}

Ring::~Ring() = default;

Operation Ring::read(const RingFile& file, std::span<std::byte> into, std::uint64_t offset) {
  return {*this, Operation::Kind::read, file, into, offset};
}

Operation Ring::write(const RingFile& file, std::span<const std::byte> from, std::uint64_t offset) {
  const std::span<std::byte> data(const_cast<std::byte*>(from.data()), from.size());  // it is only read
  return {*this, Operation::Kind::write, file, data, offset};
}

Operation Ring::poll(int fd, short events) {
  return {*this, fd, events};
}

Result<void> Ring::open_wake_fd() {
  Result<Event> event = Event::create();
  if (!event) return std::move(event).error();
  woken_ = std::move(*event);
  return {};
}

void Ring::wake() {
  if (wake_pending_.exchange(true)) return;
  const int saved_errno = errno;
  woken_.signal();
  errno = saved_errno;
}

void Ring::drain_wake_fd() {
  woken_.drain();
  // The flag is cleared after the read. The other way round, a wake() in between would be read away and leave
  // the flag set for ever. A wake() that still sees the flag is served when this run_once() returns.
  wake_pending_.exchange(false);
}

Result<void> Ring::run_once(Clock::duration max_wait) {
  const bool resumed = resume_ready();
  Result<void> waited = wait(resumed ? Clock::duration::zero() : time_to_wait(max_wait));
  schedule_sleepers_that_are_due();
  resume_ready();
  return waited;
}

void Ring::complete(Operation& operation, long result) {
  if (operation.advance(result)) {
    schedule(operation);
  } else {
    submit(operation);
  }
}

// Resumes only those that are ready now, because coroutines that keep waking each other must not keep the
// ring from its completions.
bool Ring::resume_ready() {
  WaiterQueue batch;
  while (Waiter* waiter = ready_.pop()) batch.push(*waiter);
  const bool any = !batch.empty();
  while (Waiter* waiter = batch.pop()) waiter->handle.resume();
  return any;
}

Clock::duration Ring::time_to_wait(Clock::duration max_wait) const {
  Clock::duration wait = std::min(max_wait, kLongestWait);
  if (!sleeping_.empty()) wait = std::min(wait, sleeping_.front()->until() - Clock::now());
  return std::max(wait, Clock::duration::zero());
}

void Ring::schedule_sleepers_that_are_due() {
  if (sleeping_.empty()) return;
  const Clock::time_point now = Clock::now();
  while (!sleeping_.empty() && sleeping_.front()->until() <= now) {
    std::pop_heap(sleeping_.begin(), sleeping_.end(), wakes_later);
    schedule(*sleeping_.back());
    sleeping_.pop_back();
  }
}

Result<std::unique_ptr<Ring>> make_ring(RingChoice choice, unsigned depth) {
  if (choice == RingChoice::thread_pool) return ThreadRing::create(depth, "");
  Result<std::unique_ptr<Ring>> ring = Uring::create(depth);
  if (ring.ok() || choice == RingChoice::io_uring) return ring;
  return ThreadRing::create(depth, ring.error().message());
}

}  // namespace rdcp::io
