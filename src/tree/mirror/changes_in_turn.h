// Changes are told in the order of the source's walk, whichever page of questions is answered first: so a dry
// run tells the same as the run, line by line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tree/messages/changes.h"

namespace rdcp::tree {

// Thread-safe. What waits is bounded by the pages that an honest source has under way.
class ChangesInTurn {
 public:
  // Before the first add(). Each call of `tell` has about kToldBytes at most, so that it fits into a message.
  void set_tell(std::function<void(const Changes&)> tell) { tell_ = std::move(tell); }

  // A page's changes. Those of one turn come in their order; of turns below `first` no page comes any more.
  void add(std::uint64_t turn, std::uint64_t first, Changes changes) {
    const std::lock_guard lock(mutex_);
    first_ = std::max(first_, first);
    for (Change& change : changes.list) {
      waiting_bytes_ += bytes_of(change);
      ++waiting_changes_;
      waiting_[turn].list.push_back(std::move(change));
    }
    const bool too_many = waiting_changes_ > kWaitingMax || waiting_bytes_ > kWaitingBytesMax;
    tell_until(too_many ? kAll : first_);
  }
  // Nothing comes any more.
  void finish() {
    const std::lock_guard lock(mutex_);
    tell_until(kAll);
  }

  static constexpr std::size_t kWaitingMax = 100'000;
  static constexpr std::size_t kWaitingBytesMax = 32u << 20;
  static constexpr std::size_t kToldBytes = 256u << 10;

 private:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  static std::size_t bytes_of(const Change& change) {
    return sizeof(Change) + change.path.size() + change.target.size();
  }

  // The last one, too: its pages come one after the other.
  void tell_until(std::uint64_t last) {
    const auto end = waiting_.upper_bound(last);
    for (auto at = waiting_.begin(); at != end; ++at) tell_in_parts(std::move(at->second.list));
    waiting_.erase(waiting_.begin(), end);
  }
  void tell_in_parts(std::vector<Change> list) {
    Changes part;
    std::size_t part_bytes = 0;
    for (Change& change : list) {
      const std::size_t bytes = bytes_of(change);
      waiting_bytes_ -= bytes;
      --waiting_changes_;
      part_bytes += bytes;
      part.list.push_back(std::move(change));
      if (part_bytes < kToldBytes && &change != &list.back()) continue;
      tell_(part);
      part.list.clear();
      part_bytes = 0;
    }
  }

  std::mutex mutex_;
  std::function<void(const Changes&)> tell_ = [](const Changes&) {};
  std::map<std::uint64_t, Changes> waiting_;
  std::size_t waiting_changes_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t first_ = 0;
};

}  // namespace rdcp::tree
