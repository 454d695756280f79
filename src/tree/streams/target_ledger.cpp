#include "tree/streams/target_ledger.h"

namespace rdcp::tree {

bool WantedPaths::want(std::string_view path) {
  const std::lock_guard lock(mutex_);
  if (paths_.size() == kMax) return false;
  paths_.emplace(path);
  return true;
}

void WantedPaths::take(std::string_view path) {
  const std::lock_guard lock(mutex_);
  paths_.erase(std::string(path));
}

std::size_t WantedPaths::count() const {
  const std::lock_guard lock(mutex_);
  return paths_.size();
}

Ledger TargetLedger::tell() const {
  Ledger ledger = frames.tell();
  ledger.missing = entries.count() + names.count();
  return ledger;
}

}  // namespace rdcp::tree
