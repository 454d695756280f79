// Work that was under way on streams that are lost. It waits until the target, told over another stream, has
// ended its side of the lost one: what is sent again then cannot meet itself.
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
  // From now on take() has a LostTask for this stream.
  void lose_stream(std::size_t stream);
  // May come after confirm(), too: a worker gives back what it has when it gets to it.
  void add(std::size_t stream, Task task);
  // The target has ended its side of the stream.
  void confirm(std::size_t stream);
  std::optional<Work> take();
  bool empty() const;

 private:
  struct Lost {
    std::size_t stream = 0;
    bool told = false;  // its task was taken
    bool confirmed = false;
    std::vector<Task> held;
  };
  Lost& find(std::size_t stream);

  std::vector<Lost> lost_;
  std::deque<Task> ready_;
};

}  // namespace rdcp::tree
