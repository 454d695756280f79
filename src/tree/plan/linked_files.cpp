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

LinkedFiles::Turn LinkedFiles::turn_of(Item& item) {
  std::lock_guard lock(mutex_);
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
