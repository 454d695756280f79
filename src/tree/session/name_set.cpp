#include "tree/session/name_set.h"

#include <cstring>
#include <span>

namespace rdcp::tree {
namespace {

io::Digest key_of(EntryPathView path) {
  return io::digest_of(std::as_bytes(std::span(path.text())));
}

}  // namespace

std::size_t NameSet::Hash::operator()(const io::Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof hash);
  return hash;
}

bool NameSet::add(EntryPathView path) {
  std::lock_guard lock(mutex_);
  if (paths_.size() < most_) paths_.insert(key_of(path));
  any_ = true;
  return paths_.size() < most_;
}

void NameSet::remove(EntryPathView path) {
  if (!any_) return;
  std::lock_guard lock(mutex_);
  if (paths_.size() < most_) paths_.erase(key_of(path));
}

bool NameSet::has(EntryPathView path) const {
  if (!any_) return false;
  std::lock_guard lock(mutex_);
  return paths_.size() >= most_ || paths_.contains(key_of(path));
}

}  // namespace rdcp::tree
