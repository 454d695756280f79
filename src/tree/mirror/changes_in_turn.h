// Changes are told in the order of the source's walk, whichever page of questions is answered first: so a dry
// run tells the same as the run, line by line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "tree/messages/changes.h"

namespace rdcp::tree {

// Thread-safe. What waits is bounded by the pages that an honest source has under way.
class ChangesInTurn {
 public:
  // Before the first add().
  void set_tell(std::function<void(const Changes&)> tell) { tell_ = std::move(tell); }

  // A page's changes. Those of one turn come in their order; of turns below `first` no page comes any more.
  void add(std::uint64_t turn, std::uint64_t first, Changes changes) {
    const std::lock_guard lock(mutex_);
    first_ = std::max(first_, first);
    if (!changes.list.empty()) {
      waiting_changes_ += changes.list.size();
      auto& list = waiting_[turn].list;
      std::ranges::move(changes.list, std::back_inserter(list));
    }
    tell_until(waiting_changes_ > kWaitingMax ? kAll : first_);
  }
  // Nothing comes any more.
  void finish() {
    const std::lock_guard lock(mutex_);
    tell_until(kAll);
  }

  static constexpr std::size_t kWaitingMax = 100'000;

 private:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  // The last one, too: its pages come one after the other.
  void tell_until(std::uint64_t last) {
    const auto end = waiting_.upper_bound(last);
    for (auto at = waiting_.begin(); at != end; ++at) {
      waiting_changes_ -= at->second.list.size();
      tell_(at->second);
    }
    waiting_.erase(waiting_.begin(), end);
  }

  std::mutex mutex_;
  std::function<void(const Changes&)> tell_ = [](const Changes&) {};
  std::map<std::uint64_t, Changes> waiting_;
  std::size_t waiting_changes_ = 0;
  std::uint64_t first_ = 0;
};

}  // namespace rdcp::tree
