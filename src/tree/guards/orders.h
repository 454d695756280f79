// Decides what a coordinator may send to an agent. A message that an agent has no use for in its state is
// refused, not ignored, because nobody has considered what it would do there.
#pragma once

#include <cstdint>
#include <string>

#include "tree/messages/message.h"

namespace rdcp::tree {

// The state of an agent. `ready`: it has its job and has said so. `begun`: it makes streams, copies, or has
// copied.
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

// stranger: all that is known of the coordinator is that it has the key (ReceiveOnlyPolicy). It may send one
// stream of bytes, and it has one try.
bool may_order(MessageType order, AgentState state, bool stranger);

// Returns why it may not, in words about the coordinator.
std::string refusal_of(MessageType order, AgentState state, bool stranger);

}  // namespace rdcp::tree
