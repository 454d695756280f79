// Wakes workers that found nothing to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/ring.h"

namespace rdcp::tree {

// Part of the plan, behind its mutex except for changes(). Nobody is woken as long as nobody waits.
class WorkerBell {
 public:
  void subscribe(io::Ring* ring) { rings_.push_back(ring); }
  void unsubscribe(io::Ring* ring) { std::erase(rings_, ring); }
  // Notes that a worker found nothing to do, and will look again when the bell rings.
  void note_waiting() { anyone_waits_ = true; }
  void ring() {
    if (!anyone_waits_) return;
    anyone_waits_ = false;
    changes_.fetch_add(1, std::memory_order_release);
    for (io::Ring* ring : rings_) ring->wake();
  }
  // Returns a number that grows each time the bell wakes workers. Any thread may call it.
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

 private:
  std::vector<io::Ring*> rings_;
  bool anyone_waits_ = false;
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace rdcp::tree
