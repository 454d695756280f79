// Decides where the workers of a job's RDMA streams run: on the NUMA node of the stream's device, which then
// reaches the memory of their slots without a detour through another processor's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "io/numa.h"
#include "io/words.h"
#include "net/rails/rdma_port.h"

namespace rdcp::tree {

class StreamPlacement {
 public:
  // wanted: false where everything is to stay where it is (--no-numa).
  explicit StreamPlacement(bool wanted);

  // Before the first stream: everything stays where it is.
  void leave() { leaves_ = true; }
  bool leaves() const { return leaves_; }
  // Returns what a worker whose stream goes through this port does first, on its own thread, and any time
  // later than this. Empty if the worker stays where it is. source: whether this side sends, for the notes.
  std::function<void()> of_port(const net::RdmaPort& port, bool source);
  // Returns these notes, and what workers have done since, in words: where they went, or why not. Any thread
  // may call this.
  std::vector<io::Words> added_to(std::vector<io::Words> notes) const;

 private:
  class Notes;

  bool leaves_;
  std::optional<std::vector<io::NumaNode>> nodes_;  // once they were read
  std::shared_ptr<Notes> notes_;                    // workers may have it for longer
};

}  // namespace rdcp::tree
