// The interface of a worker's ring: the one place where a worker submits file I/O, polls descriptors and
// sleeps.
//
// There are two backends: io_uring (uring.h), and a small thread pool of pread/pwrite (thread_ring.h) for
// machines where io_uring is forbidden. A ring belongs to one thread; only wake() may be called from others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/descriptors.h"
#include "io/result.h"
#include "io/task.h"

namespace rdcp::io {

class Ring;
using Clock = std::chrono::steady_clock;

// The offset to pass for a file that has no positions (pipe, socket, terminal): its next bytes are read or
// written.
inline constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

// A file as a ring sees it.
struct RingFile {
  int fd = -1;
  int index = -1;       // index in the ring's registered-file table, or -1 if not registered
  bool direct = false;  // opened O_DIRECT: buffers, lengths and offsets are multiples of 4096
  // Its pages are in memory, so the worker's own thread reads it: a ring would only add work.
  bool resident = false;
  // Its pages are in memory, and yet other threads read it, because the worker is the only one of its copy
  // and has enough to do with what is read.
  bool beside = false;
  bool live = false;  // a read ends when nothing more is there for now, even if it is not full
};

// bytes is less than requested only at the end of the file (reads), when a live file has no more for now, or
// when error, an errno value, is set.
struct IoResult {
  std::size_t bytes = 0;
  int error = 0;
  bool at_end = false;  // a read got 0 bytes: the end of a file
};

// One read, write or poll. It is awaitable, lives in the awaiting coroutine's frame and is never moved. The
// ring continues short transfers by itself: it resumes the waiter when all is transferred, at the end of the
// file, or on an error. For a poll, IoResult::bytes holds the returned events.
class Operation : public Waiter {
 public:
  enum class Kind : unsigned char { read, write, poll };

  // A read or write of these bytes.
  Operation(Ring& ring, Kind kind, const RingFile& file, std::span<std::byte> data, std::uint64_t offset)
      : ring_(ring), kind_(kind), file_(file), data_(data.data()), bytes_(data.size()), offset_(offset) {}
  // A poll(2) of fd.
  Operation(Ring& ring, int fd, short events)
      : ring_(ring), kind_(Kind::poll), file_{.fd = fd}, events_(events) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter);
  IoResult await_resume() const { return {done_, error_, at_end_}; }

  // The functions below are for backends. An operation whose descriptor is O_NONBLOCK and was not ready
  // counts as a poll until it is ready.
  Kind kind() const { return blocked_ ? Kind::poll : kind_; }
  const RingFile& file() const { return file_; }
  std::byte* rest() const { return data_ + done_; }
  std::size_t rest_bytes() const { return bytes_ - done_; }
  std::uint64_t rest_offset() const { return offset_ == kNoOffset ? kNoOffset : offset_ + done_; }
  short events() const;
  // Takes one system call's result: bytes, or a negative errno. Returns true if the operation is finished,
  // false if the rest must be submitted again.
  bool advance(long result);
  // Makes one plain system call for the rest, which may block. Returns what advance() takes.
  long call() const;
  // A number that a backend keeps with an operation under way.
  long note() const { return note_; }
  void set_note(long note) { note_ = note; }

 private:
  bool fail(int error);
  bool advance_read(std::size_t bytes);
  bool advance_write(std::size_t bytes);

  Ring& ring_;
  Kind kind_;
  RingFile file_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t offset_ = 0;
  short events_ = 0;
  std::size_t done_ = 0;
  int error_ = 0;
  bool at_end_ = false;
  bool blocked_ = false;
  long note_ = 0;
};

// Resumes its waiter at a point in time.
class Sleep : public Waiter {
 public:
  Sleep(Ring& ring, Clock::time_point until) : ring_(ring), until_(until) {}
  Sleep(const Sleep&) = delete;
  Sleep& operator=(const Sleep&) = delete;
  bool await_ready() const { return Clock::now() >= until_; }
  void await_suspend(std::coroutine_handle<> waiter);
  void await_resume() const {}
  Clock::time_point until() const { return until_; }

 private:
  Ring& ring_;
  Clock::time_point until_;
};

// A ring must be destroyed on its thread, before the tasks and the memory that it serves. The destructor
// cancels what is under way and waits until the kernel has let go of every buffer; it does not resume
// waiters.
class Ring {
 public:
  virtual ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Returns "io_uring" or "thread pool", with the reason if that is not the first choice, and if the arena is
  // not registered, why.
  virtual std::string description() const = 0;
  // Registers the arena so that reads and writes within it need no page pinning per call. If the memlock
  // limit is too small (io_uring charges registered buffers to RLIMIT_MEMLOCK, io_uring_register(2)), the
  // ring goes on without; this is not an error, and description() says which limit to raise.
  virtual void register_arena(std::span<std::byte> arena) = 0;
  // Does the same, but only at the first read or write that has an offset. Registering allocates all pages of
  // the arena, which a run that moves no file's bytes need not pay for. Before Linux 5.13 registering waits
  // for what is under way, so it is done now.
  virtual void offer_arena(std::span<std::byte> arena) { register_arena(arena); }
  // To be called instead of these two if others need the memory that may be locked. description() then says
  // which limit to raise.
  virtual void keep_arena_unregistered() {}
  // Puts fd into the registered-file table and returns its index, or -1 if there is no table or it is full.
  // The table keeps the file open until detach(), even if fd is closed.
  virtual int attach(int fd) = 0;
  virtual void detach(int index) = 0;

  Operation read(const RingFile& file, std::span<std::byte> into, std::uint64_t offset);
  Operation write(const RingFile& file, std::span<const std::byte> from, std::uint64_t offset);
  // Waits once for events of poll(2) on fd.
  Operation poll(int fd, short events);
  Sleep sleep_until(Clock::time_point until) { return {*this, until}; }

  // Makes run_once() resume this waiter. Only for the ring's thread.
  void schedule(Waiter& waiter) { ready_.push(waiter); }
  // Makes run_once() return soon. Any thread may call this, also before the first run_once().
  void wake();

  // Resumes what is ready and submits what is queued. If nothing was ready, it waits until something
  // completes, a sleep is over, wake() is called or max_wait has passed. It then resumes what has become
  // ready. Only for the ring's thread.
  Result<void> run_once(Clock::duration max_wait);

 protected:
  Ring();
  // Creates the event behind wake(); a backend's factory calls it first.
  Result<void> open_wake_fd();
  int wake_fd() const { return woken_.fd(); }
  // Queues one system call for the rest of the operation. It must not resume anything.
  virtual void submit(Operation& operation) = 0;
  // Hands queued calls to the kernel and waits for at least one completion, wake_fd() or the time to pass;
  // calls complete() for each completion. A zero wait only reaps.
  virtual Result<void> wait(Clock::duration max_wait) = 0;
  // For backends: takes a result, then schedules the waiter or submits the rest.
  void complete(Operation& operation, long result);
  // For backends: drains the event after wake().
  void drain_wake_fd();

 private:
  friend class Operation;
  friend class Sleep;
  bool resume_ready();
  Clock::duration time_to_wait(Clock::duration max_wait) const;
  void schedule_sleepers_that_are_due();

  WaiterQueue ready_;
  std::vector<Sleep*> sleeping_;  // a heap, the earliest first
  Event woken_;
  std::atomic<bool> wake_pending_ = false;  // the event is signalled, or is just about to be
};

// A list of coroutines of one ring that wait for something to change. Each checks again when it is resumed.
class WaitList {
 public:
  class Awaiter : public Waiter {
   public:
    explicit Awaiter(WaitList& list) : list_(list) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      handle = waiter;
      list_.waiters_.push(*this);
    }
    void await_resume() const {}

   private:
    WaitList& list_;
  };

  explicit WaitList(Ring& ring) : ring_(ring) {}
  Awaiter wait() { return Awaiter(*this); }
  bool empty() const { return waiters_.empty(); }
  void wake_one() {
    if (Waiter* first = waiters_.pop()) ring_.schedule(*first);
  }
  void wake_all() {
    while (Waiter* first = waiters_.pop()) ring_.schedule(*first);
  }

 private:
  Ring& ring_;
  WaiterQueue waiters_;
};

// Chooses the backend.
enum class RingChoice : unsigned char { automatic, io_uring, thread_pool };
constexpr RingChoice last_of(RingChoice) {
  return RingChoice::thread_pool;
}

// Makes a ring for `depth` operations at once. automatic takes io_uring, or the thread pool if io_uring
// cannot be set up (an old kernel, or EPERM, ENOSYS: seccomp, kernel.io_uring_disabled).
Result<std::unique_ptr<Ring>> make_ring(RingChoice choice, unsigned depth);

}  // namespace rdcp::io
