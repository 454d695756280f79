// What a target had answered on streams that were lost, and the source may not have heard. When such a chunk
// comes again, over another stream, it must not count twice.
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
  // What was answered to this frame when it came before, which is forgotten by that.
  std::optional<CachedReply> take(const net::Frame& again);

 private:
  std::mutex mutex_;
  std::vector<CachedReply> answers_;
};

}  // namespace rdcp::tree
