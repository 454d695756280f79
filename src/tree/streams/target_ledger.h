// Keeps account of what a target in a chain has got, and of what it still wants.
#pragma once

#include <cstddef>

#include "io/digest_set.h"
#include "tree/streams/frame_ledger.h"

namespace rdcp::tree {

struct TargetLedger {
  // A source asks about a little more than it sends, so few paths are missing at a time.
  static constexpr std::size_t kMissingMax = 1 << 20;

  ReceivedFrames frames;
  // Paths about which the source has asked, and of which the target has said that it wants more. A hop that
  // passes on another answer keeps the source from sending it. What comes is removed.
  io::DigestSet entries{kMissingMax};
  io::DigestSet names{kMissingMax};  // of directories, for --delete
  Ledger tell() const;
};

}  // namespace rdcp::tree
