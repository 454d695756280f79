// In which order a sync's batches may be sent: nothing changes at the target beneath a directory before that
// has been compared itself, and a directory comes before what is in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "tree/pages/names_page.h"
#include "tree/plan/item.h"

namespace rdcp::tree {

// Belongs to the plan, and is not thread-safe.
class CompareOrder {
 public:
  void number(Batch& batch) { batch.serial = next_serial_++; }
  void begin(const Batch& batch) { begin(batch.serial); }
  // Names are sent after all batches.
  void begin(NamesBatch& names) {
    names.serial = next_serial_++;
    begin(names.serial);
  }
  void end(const NamesBatch& names) { std::erase(comparing_, names.serial); }
  // Returns the lowest serial that the target may still be asked about.
  std::uint64_t first() const { return comparing_.empty() ? begun_ + 1 : std::ranges::min(comparing_); }
  // Ends the batch's comparison. Returns false if it keeps the batch, because an earlier one is still being
  // compared.
  bool end(Batch& batch) {
    std::erase(comparing_, batch.serial);
    if (may_be_sent(batch)) return true;
    waiting_items_ += batch.items.size();
    waiting_.push_back(std::move(batch));
    return false;
  }
  // Returns a kept batch that no longer has to wait.
  std::optional<Batch> take() {
    const auto at = std::ranges::find_if(waiting_, [this](const Batch& one) { return may_be_sent(one); });
    if (at == waiting_.end()) return std::nullopt;
    Batch batch = std::move(*at);
    waiting_.erase(at);
    waiting_items_ -= batch.items.size();
    return batch;
  }
  bool empty() const { return waiting_.empty(); }
  std::size_t waiting_items() const { return waiting_items_; }

 private:
  bool may_be_sent(const Batch& batch) const {
    return std::ranges::none_of(comparing_, [&](std::uint64_t serial) { return serial < batch.serial; });
  }

  void begin(std::uint64_t serial) {
    comparing_.push_back(serial);
    begun_ = serial;
  }

  std::uint64_t next_serial_ = 1;
  std::uint64_t begun_ = 0;               // the last serial begun; they begin in order
  std::vector<std::uint64_t> comparing_;  // serials taken and not compared yet
  std::deque<Batch> waiting_;
  std::size_t waiting_items_ = 0;
};

}  // namespace rdcp::tree
