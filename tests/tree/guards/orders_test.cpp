#include "tree/guards/orders.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tree/protocol/message_name.h"

namespace rdcp::tree {
namespace {

using enum MessageType;
using Allowed = std::map<AgentState, std::set<MessageType>>;

const std::set<MessageType> kAlways{ping, beat, suspend, abort, finish};

Allowed plus_always(Allowed allowed) {
  for (auto& [state, orders] : allowed) {
    if (state != AgentState::segment) orders.insert(kAlways.begin(), kAlways.end());
  }
  return allowed;
}

const Allowed kByOwnUser = plus_always({
    {AgentState::idle,
     {stay, explain_problems, find_paths, paths_named, source_wishes, alterations, source_job, target_wishes,
      target_job, join_chain, measure_job, examine, clean_job, list_job, segment_job}},
    {AgentState::source_ready,
     {paths_named, source_wishes, alterations, source_job, join_chain, keep_ledger, knock, path_told,
      prove_early, end_when_done, mark_packets, leave_placement, grow_streams, begin}},
    {AgentState::source_begun, {stream_lost, pair_offered, pair_answered}},
    {AgentState::target_ready,
     {target_wishes, alterations, target_job, join_chain, pass_on, keep_ledger, tell_pace, knock, path_told,
      prove_early, end_when_done, mark_packets, leave_placement, begin}},
    {AgentState::target_begun, {stream_lost, use_streams, pair_offered, pair_answered}},
    {AgentState::measure_ready, {measure_job, mark_packets, leave_placement, begin}},
    {AgentState::measure_begun, {measure_job, pair_offered, pair_answered}},
    {AgentState::checking, {list_job, list_more, sum_ask}},
    {AgentState::segment, {relayed_bytes, beat, abort, finish}},
});

const Allowed kByStrangers = plus_always({
    {AgentState::idle, {target_job}},
    {AgentState::source_ready, {}},
    {AgentState::source_begun, {}},
    {AgentState::target_ready, {path_told, mark_packets, leave_placement, begin}},
    {AgentState::target_begun, {stream_lost, use_streams, pair_offered, pair_answered}},
    {AgentState::measure_ready, {}},
    {AgentState::measure_begun, {}},
    {AgentState::checking, {}},
    {AgentState::segment, {beat, abort, finish}},
});

void expect_allowed(const Allowed& allowed, bool stranger) {
  ASSERT_EQ(allowed.size(), kAgentStates);
  for (const auto& [state, orders] : allowed) {
    for (unsigned number = 0; number < 256; ++number) {
      const auto order = static_cast<MessageType>(number);
      EXPECT_EQ(may_order(order, state, stranger), orders.contains(order))
          << name_of(order) << " in state " << static_cast<unsigned>(state) << (stranger ? ", stranger" : "");
    }
  }
}

TEST(Orders, EveryMessageInEveryState) {
  expect_allowed(kByOwnUser, false);
}

TEST(Orders, EveryMessageOfAStrangerInEveryState) {
  expect_allowed(kByStrangers, true);
}

TEST(Orders, ARefusalNamesTheMessage) {
  EXPECT_EQ(refusal_of(source_job, AgentState::idle, true),
            "asks for more than to send one stream ('source_job')");
  EXPECT_EQ(refusal_of(begin, AgentState::idle, false),
            "sends 'begin', which an agent does not expect there");
  EXPECT_EQ(refusal_of(static_cast<MessageType>(99), AgentState::idle, true),
            "sends 'message 99', which an agent does not expect there");
}

TEST(Orders, EveryMessageHasItsName) {
  std::set<std::string> names;
  for (unsigned number = 1; number <= static_cast<unsigned>(stream_lost); ++number) {
    names.insert(name_of(static_cast<MessageType>(number)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(stream_lost));
  EXPECT_EQ(name_of(hello), "hello");
  EXPECT_EQ(name_of(segment_end), "segment_end");
  EXPECT_EQ(name_of(changes), "changes");
  EXPECT_EQ(name_of(sum_ask), "sum_ask");
  EXPECT_EQ(name_of(stream_lost), "stream_lost");
  EXPECT_EQ(name_of(static_cast<MessageType>(0)), "message 0");
}

}  // namespace
}  // namespace rdcp::tree
