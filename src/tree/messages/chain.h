// The messages that make a chain of several targets: each passes on to the next one what it gets.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "io/range.h"
#include "net/crypto/set_hash.h"
#include "tree/messages/job.h"
#include "tree/messages/message_type.h"
#include "tree/messages/stream_wish.h"

namespace rdcp::tree {

// Tells a source or a target, before its job, that the job has several targets. Since version 12.
struct JoinChain {
  static constexpr MessageType kType = MessageType::join_chain;
  static constexpr std::uint32_t kFirstProtocol = 12;
  // Blocks of an old file that a target has count for no digest, because another target may lack them.
  static constexpr std::uint32_t kDeltasSince = 15;
  bool passes_on = false;  // a target that may be told to pass on (PassOn)
  auto fields() { return std::tie(passes_on); }
};

// The next targets of one target, at most.
inline constexpr std::size_t kNextTargetsMax = 16;

// Tells a target, before it begins, how it reaches a next one, as that one's source. Since version 12, and
// since 13 it may come several times: once for each of them.
struct PassOn {
  static constexpr std::uint32_t kSeveralSince = 13;
  static constexpr MessageType kType = MessageType::pass_on;
  StreamWish streams;  // it connects
  Begin begin;         // without landings
  auto fields() { return std::tuple_cat(streams.fields(), begin.fields()); }
};

// A target that passes on to one other reports that it can do so no more. Its own copy goes on. Since version
// 12.
struct NextLost {
  static constexpr MessageType kType = MessageType::next_lost;
  io::Words why;
  auto fields() { return std::tie(why); }
};

// The same of a target that passes on to several. Since version 13.
struct BranchLost {
  static constexpr MessageType kType = MessageType::branch_lost;
  io::Within<std::uint32_t, 0, kNextTargetsMax - 1> branch = 0;  // the number of its order to pass on
  io::Words why;
  auto fields() { return std::tie(branch, why); }
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

// Has a target say from time to time what it is busy with, from its begin on. Since version 13.
struct TellPace {
  static constexpr MessageType kType = MessageType::tell_pace;
  static constexpr std::uint32_t kFirstProtocol = 13;
  auto fields() { return std::tie(); }
};

// The answer, many times. All are totals since the job began, so two of them tell what was between. Times are
// in microseconds; `slots` ones are the sum over all slots, so they may pass faster than the clock.
struct Pace {
  static constexpr MessageType kType = MessageType::pace;
  std::uint64_t clock_us = 0;
  std::uint64_t bytes = 0;              // of the chunks that have come
  std::uint64_t arriving_us = 0;        // while a chunk was arriving: the link to it; 0 over RDMA
  std::uint64_t handling_us = 0;        // while it handled a chunk itself: its disk
  std::uint64_t handling_slots_us = 0;  // the same, of all slots
  std::uint64_t waiting_slots_us = 0;   // of slots whose chunks waited for the targets behind it only
  std::uint32_t slots = 0;              // that it has at present
  auto fields() {
    return std::tie(clock_us, bytes, arriving_us, handling_us, handling_slots_us, waiting_slots_us, slots);
  }
};

}  // namespace rdcp::tree
