#include "io/digest_set.h"

#include <cstring>
#include <span>

namespace rdcp::io {
namespace {

Digest key_of(std::string_view text) {
  return digest_of(std::as_bytes(std::span(text)));
}

}  // namespace

std::size_t DigestSet::Hash::operator()(const Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof hash);
  return hash;
}

bool DigestSet::add(std::string_view text) {
  std::lock_guard lock(mutex_);
  any_ = true;
  const Digest key = key_of(text);
  if (digests_.size() < most_) digests_.insert(key);
  if (digests_.contains(key)) return true;
  has_overflowed_ = true;
  return false;
}

void DigestSet::remove(std::string_view text) {
  if (!any_) return;
  std::lock_guard lock(mutex_);
  digests_.erase(key_of(text));
}

bool DigestSet::has(std::string_view text) const {
  if (!any_) return false;
  std::lock_guard lock(mutex_);
  return digests_.contains(key_of(text));
}

std::size_t DigestSet::size() const {
  std::lock_guard lock(mutex_);
  return digests_.size();
}

}  // namespace rdcp::io
