#include "tree/plan/retransmit_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace rdcp::tree {

void RetransmitQueue::lose_stream(std::size_t stream) {
  lost_.push_back({.stream = stream, .told = false, .confirmed = false, .held = {}});
}

RetransmitQueue::Lost& RetransmitQueue::find(std::size_t stream) {
  const auto at = std::ranges::find(lost_, stream, &Lost::stream);
  assert(at != lost_.end());
  return *at;
}

void RetransmitQueue::add(std::size_t stream, Task task) {
  Lost& lost = find(stream);
  if (lost.confirmed) {
    ready_.push_back(std::move(task));
  } else {
    lost.held.push_back(std::move(task));
  }
}

void RetransmitQueue::confirm(std::size_t stream) {
  Lost& lost = find(stream);
  lost.confirmed = true;
  for (Task& task : lost.held) ready_.push_back(std::move(task));
  lost.held.clear();
}

std::optional<Work> RetransmitQueue::take() {
  const auto untold = std::ranges::find(lost_, false, &Lost::told);
  if (untold != lost_.end()) {
    untold->told = true;
    return Work{LostTask{untold->stream}};
  }
  if (ready_.empty()) return std::nullopt;
  Work work{std::move(ready_.front()), true};
  ready_.pop_front();
  return work;
}

bool RetransmitQueue::empty() const {
  return ready_.empty() && std::ranges::all_of(lost_, &Lost::confirmed);
}

}  // namespace rdcp::tree
