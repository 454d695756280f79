// The messages that make a chain of several targets: each passes on to the next one what it gets.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "net/crypto/set_hash.h"
#include "tree/messages/job.h"
#include "tree/messages/message_type.h"
#include "tree/messages/stream_wish.h"

namespace rdcp::tree {

// Tells a source or a target, before its job, that the job has several targets. Since version 12.
struct JoinChain {
  static constexpr MessageType kType = MessageType::join_chain;
  static constexpr std::uint32_t kFirstProtocol = 12;
  bool passes_on = false;  // a target that may be told to pass on (PassOn)
  auto fields() { return std::tie(passes_on); }
};

// Tells a target, before it begins, how it reaches the next one, as that one's source. Since version 12.
struct PassOn {
  static constexpr MessageType kType = MessageType::pass_on;
  StreamWish streams;  // it connects
  Begin begin;         // without landings
  auto fields() { return std::tuple_cat(streams.fields(), begin.fields()); }
};

// A target reports that nothing can be passed on any more. Its own copy goes on. Since version 12.
struct NextLost {
  static constexpr MessageType kType = MessageType::next_lost;
  io::Words why;
  auto fields() { return std::tie(why); }
};

// Has a source or a target sum up the frames that it sends or gets, and tell the sum at its end, so that what
// each target has got can be compared with what the source has sent. Since version 12.
struct KeepLedger {
  static constexpr MessageType kType = MessageType::keep_ledger;
  static constexpr std::uint32_t kFirstProtocol = 12;
  auto fields() { return std::tie(); }
};

// The answer, before Done or after Abort. See tree/streams/frame_ledger.h.
struct Ledger {
  static constexpr MessageType kType = MessageType::ledger;
  net::SetHash::Bytes sum{};
  std::vector<net::Sha256> under_way;  // source: frames that were sent and not answered
  std::uint64_t missing = 0;           // target: entries that it wanted, and that have not come
  auto fields() { return std::tie(sum, under_way, missing); }
};

}  // namespace rdcp::tree
