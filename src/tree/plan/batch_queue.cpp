#include "tree/plan/batch_queue.h"

#include <utility>

namespace rdcp::tree {

void BatchQueue::add(Batch batch) {
  queued_items_ += batch.items.size();
  if (compare_first_) order_.number(batch);
  batches_.push_back(std::move(batch));
}

void BatchQueue::add_links(std::vector<Item> links) {
  Batch batch;
  for (Item& link : links) {
    batch.items.push_back(std::move(link));
    if (batch.items.size() == kLinksInBatch) add(std::exchange(batch, {}));
  }
  if (!batch.items.empty()) add(std::move(batch));
}

std::optional<Task> BatchQueue::take_compared() {
  auto batch = order_.take();
  if (!batch) return std::nullopt;
  return PackTask{std::move(*batch)};
}

std::optional<Task> BatchQueue::take(bool may_compare) {
  if (batches_.empty()) return std::nullopt;
  if (compare_first_ && (!may_compare || order_.waiting_items() >= kItemsMax)) return std::nullopt;
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  queued_items_ -= batch.items.size();
  if (!compare_first_) return PackTask{std::move(batch)};
  order_.begin(batch);
  return CompareTask{std::move(batch)};
}

std::optional<Task> BatchQueue::take_finish() {
  if (finishable_.empty()) return std::nullopt;
  PackTask task;
  std::vector<Item>& items = task.batch.items;
  while (!finishable_.empty() && items.size() < kFinishBatch) {
    DirectoryRef directory = std::move(finishable_.front());
    finishable_.pop_front();
    // A parent whose last open child is this very item follows it in the same archive, which spares a round
    // trip for each level.
    while (directory != nullptr) {
      directory->begin_finish();
      Item item;
      item.kind = Item::Kind::finish;
      item.directory = directory;
      items.push_back(std::move(item));
      const DirectoryRef& parent = directory->parent();
      const bool follows =
          parent != nullptr && items.size() < kFinishBatch && parent->finish_behind_last_child();
      directory = follows ? DirectoryRef(parent) : nullptr;
    }
  }
  return task;
}

}  // namespace rdcp::tree
