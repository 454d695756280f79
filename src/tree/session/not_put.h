// Remembers names that this run could not put in place: what stands there is not what the source has.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_set>

#include "io/digest.h"
#include "tree/meta/entry_path.h"

namespace rdcp::tree {

// Thread-safe. Remembers at most kRemembered names; beyond that it takes every name for one that was not put.
class NotPut {
 public:
  void add(EntryPathView path);
  // Forgets a name that was put after all.
  void remove(EntryPathView path);
  bool has(EntryPathView path);

 private:
  static constexpr std::size_t kRemembered = 1 << 20;
  struct Hash {
    std::size_t operator()(const io::Digest& digest) const;
  };
  std::atomic<bool> any_{false};  // most runs put everything, and then nothing is looked up
  std::mutex mutex_;
  std::unordered_set<io::Digest, Hash> paths_;
};

}  // namespace rdcp::tree
