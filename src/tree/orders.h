// What a coordinator may send to an agent. A message that an agent has no use for in its state is refused,
// not ignored: what it would do there has not been thought of either.
#pragma once

#include <cstdint>
#include <string>

#include "tree/message.h"

namespace rdcp::tree {

// What an agent does. ready: it has its job and has said so; begun: it makes streams, copies, or has copied.
enum class AgentState : std::uint8_t {
  idle,
  source_ready,
  source_begun,
  target_ready,
  target_begun,
  measure_ready,
  measure_begun,
  checking,
  segment,
};
inline constexpr unsigned kAgentStates = 9;

// stranger: the coordinator has proven a key and is one otherwise (OnlyTarget). It may send one stream of
// bytes, and has one try.
bool may_order(MessageType order, AgentState state, bool stranger);

// Why it may not, in words about the coordinator.
std::string refusal_of(MessageType order, AgentState state, bool stranger);

}  // namespace rdcp::tree
