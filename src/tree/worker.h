// What source and target workers share: a thread's ring, arena and stream, and the loop that drives them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/arena.h"
#include "io/ring.h"
#include "net/stream.h"
#include "tree/job.h"

namespace rdcp::tree {

// Makes a worker's stream on the worker's thread, from a connection made before.
using StreamMaker = std::function<std::unique_ptr<net::Stream>(io::Ring&, io::Arena&)>;

// A file's places in one ring's table of registered files, by file id. Small: the least recently used place
// is given up when a new file comes, unless an operation on it is under way.
class RegisteredFiles {
 public:
  explicit RegisteredFiles(io::Ring& ring) : ring_(ring) {}
  // Before the ring goes. A Use may live on as long as this does.
  void detach();

  // While a Use lives its place is kept.
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
  // Sets file.index; -1 where there is no room.
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

// Adds the time until it is destroyed to a counter.
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

// Runs the ring until every task is done and the stream is idle. each_turn is called after every round; where
// it returns false no task that is left will ever be done, and only the stream is waited for.
// Error: the ring itself broke.
io::Result<void> drive(io::Ring& ring, net::Stream& stream, const std::vector<io::Task>& tasks,
                       const std::function<bool()>& each_turn);

// Lets the ring register the arena, unless what the devices of `streams` such streams lock might be refused
// then: the kernel counts memory once for each that it is registered with, a ring or a device (ib_umem_get()
// looks at mm_struct::pinned_vm, to which io_uring adds), and a ring can do without.
void offer_arena(io::Ring& ring, const io::Arena& arena, const net::Stream& stream, std::size_t streams);

// One frame without a payload, ready to be sent in a slot.
net::Frame bare_frame(net::FrameKind kind, std::uint64_t file_id);

}  // namespace rdcp::tree
