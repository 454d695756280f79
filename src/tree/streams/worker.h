// The common base of source and target workers: ring, arena and stream of a thread, and the loop that drives
// them.
#pragma once

#include <atomic>
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/arena.h"
#include "io/ring.h"
#include "net/stream/stream.h"
#include "tree/messages/job.h"

namespace rdcp::tree {

// Makes a worker's stream, on the worker's thread, from a connection that exists already. One that is empty
// stands for a stream that never came.
class StreamMaker {
 public:
  using Make = std::function<std::unique_ptr<net::Stream>(io::Ring&, io::Arena&)>;

  StreamMaker() = default;
  // prepare: is called by prepare_thread().
  template <class Function>
  requires(!std::same_as<Function, StreamMaker> && std::convertible_to<Function, Make>)
      StreamMaker(Function make, std::function<void()> prepare = {})
      : make_(std::move(make)), prepare_(std::move(prepare)) {}

  explicit operator bool() const { return bool(make_); }
  // To be called first on the worker's thread, before its ring and its arena are made: the thread goes to
  // where it is near its stream's device.
  void prepare_thread() const {
    if (prepare_) prepare_();
  }
  std::unique_ptr<net::Stream> operator()(io::Ring& ring, io::Arena& arena) const {
    return make_(ring, arena);
  }

 private:
  Make make_;
  std::function<void()> prepare_;
};

// A small table of the files that are registered with one ring, by file id. When a new file comes, the least
// recently used one that has no operation under way is dropped.
class RegisteredFiles {
 public:
  explicit RegisteredFiles(io::Ring& ring) : ring_(ring) {}
  // To be called before the ring is destroyed. A Use may live as long as this table.
  void detach();

  // A file stays registered while a Use of it lives.
  class Use {
   public:
    explicit Use(int* users) : users_(users) {
      if (users_ != nullptr) ++*users_;
    }
    Use(Use&& other) noexcept : users_(std::exchange(other.users_, nullptr)) {}
    ~Use() {
      if (users_ != nullptr) --*users_;
    }

   private:
    int* users_;
  };
  // Sets file.index, to -1 if there is no room.
  Use find(std::uint64_t file_id, io::RingFile& file);

 private:
  static constexpr std::size_t kPlaces = 16;
  struct Place {
    std::uint64_t file_id = 0;
    int index = -1;
    int users = 0;
    std::uint64_t last_used = 0;
  };
  io::Ring& ring_;
  std::array<Place, kPlaces> places_;
  std::uint64_t clock_ = 0;
};

// Adds the time until its destruction to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(std::uint64_t& counter) : counter_(counter), since_(io::Clock::now()) {}
  ~Stopwatch() {
    counter_ += static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(io::Clock::now() - since_).count());
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::uint64_t& counter_;
  io::Clock::time_point since_;
};

// Runs the ring until every task is done and the stream is idle. Calls each_turn after every round. If that
// returns false, the tasks that are left will never be done, and only the stream is waited for. Error: the
// ring itself has failed.
io::Result<void> drive(io::Ring& ring, net::Stream& stream, const std::vector<io::Task>& tasks,
                       const std::function<bool()>& each_turn);

// Lets the ring register the arena, unless `streams` such streams might then exceed the limit for locked
// memory. The kernel counts memory once for each ring or device that it is registered with (ib_umem_get()
// checks mm_struct::pinned_vm, to which io_uring adds). Devices need it, but a ring can do without.
void offer_arena(io::Ring& ring, const io::Arena& arena, const net::Stream& stream, std::size_t streams);

// Returns a frame without a payload, ready to be sent in a slot.
net::Frame bare_frame(net::FrameKind kind, std::uint64_t file_id);

}  // namespace rdcp::tree
