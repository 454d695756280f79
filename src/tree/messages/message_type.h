// The kinds of messages on the control channel.
#pragma once

#include <cstdint>

namespace rdcp::tree {

enum class MessageType : std::uint8_t {
  hello = 1,
  ping,
  pong,
  source_job,
  target_job,
  source_ready,
  target_ready,
  begin,
  progress,
  problem,
  done,
  beat,
  suspend,
  abort,
  finish,
  measure_job,
  measure_ready,
  measured,
  examine,
  findings,
  segment_job,
  segment_end,
  relayed_bytes,
  paths_named,
  changes,
  clean_job,
  leftovers,
  sums,
  list_job,
  list_more,
  listed,
  sum_ask,
  sum_told,
  stream_lost,
  knock,
  knocked,
  stay,
  ack,
  rejoin,
  unlisted,
  target_wishes,
  alterations,
  find_paths,
  paths_found,
  source_wishes,
  explain_problems,
  explained_problem,
  join_chain,
  pass_on,
  next_lost,
  keep_ledger,
  ledger,
  branch_lost,
  tell_pace,
  pace,
  path_told,
  end_when_done,
  mark_packets,
  leave_placement,
  pair_offered,
  pair_answered,
  grow_streams,
  use_streams,
  prove_early,
};
constexpr MessageType first_of(MessageType) {
  return MessageType::hello;
}
constexpr MessageType last_of(MessageType) {
  return MessageType::prove_early;
}

}  // namespace rdcp::tree
