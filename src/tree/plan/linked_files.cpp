#include "tree/plan/linked_files.h"

namespace rdcp::tree {

bool LinkedFiles::is_first(const Item& item) {
  std::lock_guard lock(mutex_);
  const auto [at, first] = files_.try_emplace(key_of(item));
  if (first) at->second = {.root = &item.root(), .path = item.local_path()};
  return first;
}

void LinkedFiles::pass_on(const Item& item) {
  if (item.status.st_nlink < 2 || item.kind != Item::Kind::entry) return;
  std::lock_guard lock(mutex_);
  const auto at = files_.find(key_of(item));
  if (at == files_.end()) return;
  at->second.vacant = true;
  at->second.replaced = false;
}

void LinkedFiles::add(Item item) {
  std::lock_guard lock(mutex_);
  further_.push_back(std::move(item));
}

std::vector<Item> LinkedFiles::next_round() {
  std::lock_guard lock(mutex_);
  std::vector<Item> turns;
  if (further_.empty()) return turns;
  ++round_;
  for (std::size_t left = further_.size(); left > 0; --left) {
    Item item = std::move(further_.front());
    further_.pop_front();
    const Turn turn = turn_of(item);
    if (turn == Turn::wait) {
      further_.push_back(std::move(item));
      continue;
    }
    if (turn == Turn::copy) item.kind = Item::Kind::entry;
    turns.push_back(std::move(item));
  }
  return turns;
}

// The caller holds the mutex.
LinkedFiles::Turn LinkedFiles::turn_of(Item& item) {
  File& file = files_[key_of(item)];
  if (file.vacant) {
    file = {.root = &item.root(), .path = item.local_path(), .round = round_};
    return Turn::copy;
  }
  if (file.round == round_) return Turn::wait;
  item.link_root = file.root;
  item.link_target = file.path;
  return Turn::link;
}

void LinkedFiles::replace(const Item& item) {
  if (item.status.st_nlink < 2 || item.kind != Item::Kind::entry) return;
  std::lock_guard lock(mutex_);
  files_[key_of(item)].replaced = true;
}

bool LinkedFiles::is_replaced(const Item& item) {
  std::lock_guard lock(mutex_);
  const auto at = files_.find(key_of(item));
  return at != files_.end() && at->second.replaced;
}

}  // namespace rdcp::tree
