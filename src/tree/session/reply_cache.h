// Holds answers that a target gave on streams that were lost, which the source may not have heard. When such
// a chunk comes again over another stream, it must not count twice.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "net/stream/frame.h"

namespace rdcp::tree {

struct CachedReply {
  net::Frame frame;
  net::AckStatus status = net::AckStatus::done;
  net::Verdicts verdicts;
};

// Thread-safe. Holds the last answer of each slot of each lost stream: a source that fills a slot again has
// heard what was answered for it.
class ReplyCache {
 public:
  void keep(std::span<const std::optional<CachedReply>> answers);
  // Returns and forgets the answer that this frame got when it came before.
  std::optional<CachedReply> take(const net::Frame& again);

 private:
  std::mutex mutex_;
  std::vector<CachedReply> answers_;
};

}  // namespace rdcp::tree
