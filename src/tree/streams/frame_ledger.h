// Sums up what a source has sent and what each of several targets has got, so that the two can be compared.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <span>

#include "net/crypto/set_hash.h"
#include "net/stream/frame.h"
#include "tree/messages/chain.h"

namespace rdcp::tree {

// Returns the SHA-256 of a frame and its payload, but for what differs from link to link: slot, packing, tag,
// and whether it was sent before.
net::Sha256 identity_of(const net::Frame& frame, std::span<const std::byte> payload);

// The source's. Thread-safe.
class SentFrames {
 public:
  // A frame is about to be sent. Which of the targets will have it is not known until it is answered.
  void send(const net::Sha256& frame);
  // It has been answered: every target has got it.
  void settle(const net::Sha256& frame);
  // It came damaged to the first target, and so went no further.
  void take_back(const net::Sha256& frame);
  Ledger tell() const;

 private:
  mutable std::mutex mutex_;
  net::SetHash settled_;
  std::set<net::Sha256> under_way_;
};

// A target's. Thread-safe.
class ReceivedFrames {
 public:
  void add(const net::Sha256& frame);
  Ledger tell() const;

 private:
  mutable std::mutex mutex_;
  net::SetHash received_;
};

// Returns true if a target has got what the source has sent and nothing else: all that was answered, and
// perhaps some of what was under way when the copy ended.
bool agree(const Ledger& sent, const Ledger& received);

}  // namespace rdcp::tree
