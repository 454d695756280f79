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
  // Has batches compared before any of their items is sent. Called before the first add().
  void compare_first() { compare_first_ = true; }

  void add(Batch batch);
  bool is_full() const { return queued_items_ >= kItemsMax; }
  // Queues the directory's own entry, because everything in the directory is settled.
  void add_finish(DirectoryRef directory) { finishable_.push_back(std::move(directory)); }
  // Queues further names of files; called with all of them at once.
  void add_links(std::vector<Item> links);

  // Returns a batch that has been compared and no longer waits for earlier batches.
  std::optional<Task> take_compared();
  // Returns the next batch, to be packed or compared. A batch is compared only if may_compare, so that there
  // is room for the items that turn out to differ.
  std::optional<Task> take(bool may_compare);
  std::optional<Task> take_finish();

  CompareOrder& order() { return order_; }
  const CompareOrder& order() const { return order_; }

  // Limits how much waits to 0.7 MB; a copy of a million files takes no more.
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
