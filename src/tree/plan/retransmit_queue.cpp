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

void RetransmitQueue::add(std::size_t stream, Work work) {
  work.again = true;
  Lost& lost = find(stream);
  if (lost.confirmed) {
    ready_.push_back(std::move(work));
  } else {
    lost.held.push_back(std::move(work));
  }
}

void RetransmitQueue::confirm(std::size_t stream) {
  Lost& lost = find(stream);
  lost.confirmed = true;
  for (Work& work : lost.held) ready_.push_back(std::move(work));
  lost.held.clear();
}

bool RetransmitQueue::take(Work& work) {
  const auto untold = std::ranges::find(lost_, false, &Lost::told);
  if (untold != lost_.end()) {
    untold->told = true;
    work.kind = Work::Kind::lost;
    work.stream = untold->stream;
    return true;
  }
  if (ready_.empty()) return false;
  work = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

bool RetransmitQueue::empty() const {
  return ready_.empty() && std::ranges::all_of(lost_, &Lost::confirmed);
}

}  // namespace rdcp::tree
