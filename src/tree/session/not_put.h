// Remembers names that this run could not put in place: what stands there is not what the source has.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "io/digest.h"

namespace rdcp::tree {

// Thread-safe. Remembers at most kRemembered names; beyond that it takes every name for one that was not put.
class NotPut {
 public:
  void add(std::string_view path);
  // Forgets a name that was put after all.
  void remove(std::string_view path);
  bool has(std::string_view path);

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
