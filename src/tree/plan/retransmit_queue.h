// Holds work that was under way on streams that are lost. It waits until the target, told over another
// stream, has ended its side of the lost one, so that a chunk sent again cannot meet its first copy.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "tree/plan/task.h"

namespace rdcp::tree {

// Part of the plan, behind its mutex. Bounded by the streams and their depth.
class RetransmitQueue {
 public:
  // Has take() return a LostTask for this stream.
  void lose_stream(std::size_t stream);
  // May be called after confirm(), too: a worker gives back what it has when it gets to it.
  void add(std::size_t stream, Task task);
  // Notes that the target has ended its side of the stream.
  void confirm(std::size_t stream);
  // Returns what a target that writes in order can use at once, if in_turn, else anything.
  std::optional<Work> take(bool in_turn = false);
  bool empty() const;

 private:
  struct Lost {
    std::size_t stream = 0;
    bool told = false;  // its LostTask was taken
    bool confirmed = false;
    std::vector<Task> held;
  };
  Lost& find(std::size_t stream);

  std::vector<Lost> lost_;
  std::deque<Task> ready_;
};

}  // namespace rdcp::tree
