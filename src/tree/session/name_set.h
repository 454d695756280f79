// Remembers names of the target that something has befallen in this run.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_set>

#include "io/digest.h"
#include "tree/meta/entry_path.h"

namespace rdcp::tree {

// Thread-safe. Remembers fewer than `most` names, by their digests; a set that is full has every name, and
// forgets none.
class NameSet {
 public:
  explicit NameSet(std::size_t most) : most_(most) {}

  // Returns false if the set is full now.
  bool add(EntryPathView path);
  void remove(EntryPathView path);
  bool has(EntryPathView path) const;

 private:
  struct Hash {
    std::size_t operator()(const io::Digest& digest) const;
  };
  const std::size_t most_;
  std::atomic<bool> any_{false};  // in most runs nothing is added, and then nothing is looked up
  mutable std::mutex mutex_;
  std::unordered_set<io::Digest, Hash> paths_;
};

}  // namespace rdcp::tree
