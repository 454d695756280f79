// The batches of a plan: small items, directories to be finished, further names of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "tree/plan/compare_order.h"
#include "tree/plan/task.h"

namespace rdcp::tree {

// Part of the plan, behind its mutex.
class BatchQueue {
 public:
  // Before the first batch: batches are compared before anything of them is sent.
  void compare_first() { compare_first_ = true; }

  void add(Batch batch);
  bool is_full() const { return queued_items_ >= kItemsMax; }
  // All that is in the directory is settled: its own entry can be sent.
  void add_finish(DirectoryRef directory) { finishable_.push_back(std::move(directory)); }
  // Further names of files, all at once.
  void add_links(std::vector<Item> links);

  // A batch whose comparison is over, and which need not wait for others any more.
  std::optional<Task> take_compared();
  // The next batch, to be packed, or to be compared if there is room for what is found to be different.
  std::optional<Task> take(bool may_compare);
  std::optional<Task> take_finish();

  CompareOrder& order() { return order_; }
  const CompareOrder& order() const { return order_; }

  // How much may wait: 0.7 MB; a copy of a million files takes no more.
  static constexpr std::size_t kItemsMax = 2'500;
  static constexpr std::size_t kFinishBatch = 256;
  static constexpr std::size_t kLinksInBatch = 256;

 private:
  std::deque<Batch> batches_;
  std::size_t queued_items_ = 0;  // in batches_
  bool compare_first_ = false;
  CompareOrder order_;
  std::deque<DirectoryRef> finishable_;
};

}  // namespace rdcp::tree
