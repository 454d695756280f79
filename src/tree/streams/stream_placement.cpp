#include "tree/streams/stream_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "net/rails/rdma_facts.h"

namespace rdcp::tree {

// Each is kept once, because the streams of a port all say the same.
class StreamPlacement::Notes {
 public:
  void add(io::Words note) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
  }
  void append_to(std::vector<io::Words>& others) const {
    const std::lock_guard lock(mutex_);
    others.insert(others.end(), notes_.begin(), notes_.end());
  }

 private:
  mutable std::mutex mutex_;
  std::vector<io::Words> notes_;
};

StreamPlacement::StreamPlacement(bool wanted) : leaves_(!wanted), notes_(std::make_shared<Notes>()) {}

std::function<void()> StreamPlacement::of_port(const net::RdmaPort& port, bool source) {
  if (leaves_) return {};
  if (!nodes_) nodes_ = io::numa_nodes();
  const int node = net::numa_node_of(port.device, port.interface);
  io::NumaPlace place = io::place_near(node, *nodes_, io::allowed_cpus());
  if (place.anywhere()) return {};
  std::string streams = fmt::format("streams {} {}", source ? "from" : "to", port.device);
  return [notes = notes_, streams = std::move(streams), place = std::move(place)] {
    const auto there = io::go_to(place);
    std::string note = there ? fmt::format("{} run on NUMA node {}, processors {}", streams, place.node,
                                           io::text_of(place.cpus))
                             : fmt::format("{} are not kept on NUMA node {}: {}", streams, place.node,
                                           there.error().message());
    notes->add(io::Words(std::move(note)));
  };
}

std::vector<io::Words> StreamPlacement::added_to(std::vector<io::Words> notes) const {
  notes_->append_to(notes);
  return notes;
}

}  // namespace rdcp::tree
