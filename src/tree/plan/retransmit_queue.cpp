#include "tree/plan/retransmit_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace rdcp::tree {
namespace {

// Whether a target that writes in order has all that comes before it, so that it does not wait there. What is
// settled was written, and so was all that lies before it: an extent that begins within the number of settled
// bytes is the next one, or was written already and only its answer was lost.
bool is_in_turn(const Task& task) {
  const auto* data = std::get_if<DataTask>(&task);
  return data == nullptr || data->extent.offset <= data->file->settled_bytes();
}

}  // namespace

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

std::optional<Work> RetransmitQueue::take(bool in_turn) {
  const auto untold = std::ranges::find(lost_, false, &Lost::told);
  if (untold != lost_.end()) {
    untold->told = true;
    return Work{LostTask{untold->stream}};
  }
  const auto next = in_turn ? std::ranges::find_if(ready_, is_in_turn) : ready_.begin();
  if (next == ready_.end()) return std::nullopt;
  Work work{std::move(*next), true};
  ready_.erase(next);
  return work;
}

bool RetransmitQueue::empty() const {
  return ready_.empty() && std::ranges::all_of(lost_, &Lost::confirmed);
}

}  // namespace rdcp::tree
