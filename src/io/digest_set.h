// A set of texts of any length that takes the same little memory for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "io/digest.h"

namespace rdcp::io {

// Remembers texts, as the paths that a peer names, by their digests. Thread-safe.
class DigestSet {
 public:
  explicit DigestSet(std::size_t most) : most_(most) {}

  // Returns false if the text is not in the set and there is no room for it.
  bool add(std::string_view text);
  void remove(std::string_view text);
  bool has(std::string_view text) const;
  std::size_t size() const;
  // True once there was no room for a text: has() may be wrong from then on.
  bool has_overflowed() const { return has_overflowed_; }

 private:
  struct Hash {
    std::size_t operator()(const Digest& digest) const;
  };
  const std::size_t most_;
  std::atomic<bool> any_{false};  // most sets stay empty, and then nothing is looked up
  std::atomic<bool> has_overflowed_{false};
  mutable std::mutex mutex_;
  std::unordered_set<Digest, Hash> digests_;
};

}  // namespace rdcp::io
