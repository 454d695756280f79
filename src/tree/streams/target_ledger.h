// Keeps account of what a target in a chain has got, and of what it still wants.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tree/streams/frame_ledger.h"

namespace rdcp::tree {

// Paths about which the source has asked, and of which the target has said that it wants more. A hop that
// passes on another answer keeps the source from sending it. Thread-safe.
class WantedPaths {
 public:
  // A source asks about a little more than it sends, so there are few at a time. Returns false if there are
  // more than kMax.
  static constexpr std::size_t kMax = 1 << 20;
  bool want(std::string_view path);
  // To be called with each path about which something comes.
  void take(std::string_view path);
  std::size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_set<std::string> paths_;
};

struct TargetLedger {
  ReceivedFrames frames;
  WantedPaths entries;
  WantedPaths names;  // of directories, for --delete
  Ledger tell() const;
};

}  // namespace rdcp::tree
