// What only a sync does with the plan: batches are compared before they are sent, and at the end names are.
#include <utility>

#include "tree/plan/plan.h"

namespace rdcp::tree {

void Plan::discount(std::uint64_t files, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  totals_.files -= files;
  totals_.bytes -= bytes;
}

bool Plan::take_last(Work& work) {
  if (!take_last_ || (last_in_turn_ && last_in_flight_ > 0)) return false;
  if (!take_last_(work)) {
    take_last_ = nullptr;
    return false;
  }
  work.kind = Work::Kind::names;
  order_.begin(work.names);
  ++last_in_flight_;
  return true;
}

void Plan::settle_last(const NamesBatch& names) {
  std::lock_guard lock(mutex_);
  order_.end(names);
  --in_flight_;
  --last_in_flight_;
  wake_workers();
}

std::uint64_t Plan::first_serial() const {
  std::lock_guard lock(mutex_);
  return order_.first();
}

bool Plan::settle_compare(Work& work) {
  std::lock_guard lock(mutex_);
  wake_workers();
  if (order_.end(work.batch)) return true;
  --in_flight_;
  return false;
}

bool Plan::take_compared(Work& work) {
  if (!order_.take(work.batch)) return false;
  work.kind = Work::Kind::batch;
  return true;
}

}  // namespace rdcp::tree
