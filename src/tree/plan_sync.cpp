// What only a sync does with the plan: batches are compared before they are sent, and at the end names are.
#include <algorithm>
#include <utility>

#include "tree/plan.h"

namespace rdcp::tree {

void Plan::number(Batch& batch) {
  if (compare_first_) batch.serial = next_serial_++;
}

void Plan::discount(std::uint64_t files, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  totals_.files -= files;
  totals_.bytes -= bytes;
}

bool Plan::take_last(Work& work) {
  if (!take_last_) return false;
  if (!take_last_(work)) {
    take_last_ = nullptr;
    return false;
  }
  work.kind = Work::Kind::names;
  ++last_in_flight_;
  return true;
}

void Plan::settle_last() {
  std::lock_guard lock(mutex_);
  --in_flight_;
  --last_in_flight_;
  wake_workers();
}

bool Plan::may_be_sent(const Batch& batch) const {
  return std::ranges::none_of(comparing_, [&](std::uint64_t serial) { return serial < batch.serial; });
}

bool Plan::settle_compare(Work& work) {
  std::lock_guard lock(mutex_);
  std::erase(comparing_, work.batch.serial);
  wake_workers();
  if (may_be_sent(work.batch)) return true;
  compared_items_ += work.batch.items.size();
  compared_.push_back(std::move(work.batch));
  --in_flight_;
  return false;
}

bool Plan::take_compared(Work& work) {
  const auto at = std::ranges::find_if(compared_, [this](const Batch& batch) { return may_be_sent(batch); });
  if (at == compared_.end()) return false;
  work.kind = Work::Kind::batch;
  work.batch = std::move(*at);
  compared_.erase(at);
  compared_items_ -= work.batch.items.size();
  return true;
}

}  // namespace rdcp::tree
