#include "tree/guards/orders.h"

#include <algorithm>
#include <array>

#include "tree/protocol/message_name.h"

namespace rdcp::tree {
namespace {

using S = AgentState;
using States = unsigned;

template <class... State>
constexpr States in(State... states) {
  return ((1u << static_cast<unsigned>(states)) | ...);
}

constexpr States kAnyState = (1u << kAgentStates) - 1;
constexpr States kAllButSegment = kAnyState & ~in(S::segment);

enum class By : std::uint8_t { everybody, no_stranger };

struct OrderRule {
  MessageType order;
  States states;
  By by;
};

// A message without a rule for a state may not come in it. A job may come again before it begins, once its
// coordinator has learnt that an earlier run was cut short.
constexpr std::array kOrderRules = {
    OrderRule{MessageType::ping, kAllButSegment, By::everybody},
    OrderRule{MessageType::beat, kAnyState, By::everybody},
    OrderRule{MessageType::stay, in(S::idle), By::no_stranger},
    OrderRule{MessageType::suspend, kAllButSegment, By::everybody},
    OrderRule{MessageType::explain_problems, in(S::idle), By::no_stranger},
    OrderRule{MessageType::abort, kAnyState, By::everybody},
    OrderRule{MessageType::finish, kAnyState, By::everybody},
    OrderRule{MessageType::paths_named, in(S::idle, S::source_ready), By::no_stranger},
    OrderRule{MessageType::find_paths, in(S::idle), By::no_stranger},
    OrderRule{MessageType::source_wishes, in(S::idle, S::source_ready), By::no_stranger},
    OrderRule{MessageType::alterations, in(S::idle, S::source_ready, S::target_ready), By::no_stranger},
    OrderRule{MessageType::source_job, in(S::idle, S::source_ready), By::no_stranger},
    OrderRule{MessageType::target_wishes, in(S::idle, S::target_ready), By::no_stranger},
    OrderRule{MessageType::target_job, in(S::idle), By::everybody},
    OrderRule{MessageType::target_job, in(S::target_ready), By::no_stranger},
    OrderRule{MessageType::join_chain, in(S::idle, S::source_ready, S::target_ready), By::no_stranger},
    OrderRule{MessageType::pass_on, in(S::target_ready), By::no_stranger},
    OrderRule{MessageType::keep_ledger, in(S::source_ready, S::target_ready), By::no_stranger},
    OrderRule{MessageType::tell_pace, in(S::target_ready), By::no_stranger},
    OrderRule{MessageType::path_told, in(S::source_ready), By::no_stranger},
    OrderRule{MessageType::path_told, in(S::target_ready), By::everybody},
    OrderRule{MessageType::prove_early, in(S::source_ready, S::target_ready), By::no_stranger},
    OrderRule{MessageType::end_when_done, in(S::source_ready, S::target_ready), By::no_stranger},
    OrderRule{MessageType::mark_packets, in(S::source_ready, S::measure_ready), By::no_stranger},
    OrderRule{MessageType::mark_packets, in(S::target_ready), By::everybody},
    OrderRule{MessageType::leave_placement, in(S::source_ready, S::measure_ready), By::no_stranger},
    OrderRule{MessageType::leave_placement, in(S::target_ready), By::everybody},
    OrderRule{MessageType::begin, in(S::source_ready, S::measure_ready), By::no_stranger},
    OrderRule{MessageType::begin, in(S::target_ready), By::everybody},
    OrderRule{MessageType::knock, in(S::source_ready, S::target_ready), By::no_stranger},
    OrderRule{MessageType::stream_lost, in(S::source_begun), By::no_stranger},
    OrderRule{MessageType::stream_lost, in(S::target_begun), By::everybody},
    OrderRule{MessageType::grow_streams, in(S::source_ready), By::no_stranger},
    OrderRule{MessageType::use_streams, in(S::target_begun), By::everybody},
    OrderRule{MessageType::pair_offered, in(S::source_begun, S::measure_begun), By::no_stranger},
    OrderRule{MessageType::pair_offered, in(S::target_begun), By::everybody},
    OrderRule{MessageType::pair_answered, in(S::source_begun, S::measure_begun), By::no_stranger},
    OrderRule{MessageType::pair_answered, in(S::target_begun), By::everybody},
    OrderRule{MessageType::measure_job, in(S::idle, S::measure_ready, S::measure_begun), By::no_stranger},
    OrderRule{MessageType::examine, in(S::idle), By::no_stranger},
    OrderRule{MessageType::clean_job, in(S::idle), By::no_stranger},
    OrderRule{MessageType::list_job, in(S::idle, S::checking), By::no_stranger},
    OrderRule{MessageType::list_more, in(S::checking), By::no_stranger},
    OrderRule{MessageType::sum_ask, in(S::checking), By::no_stranger},
    OrderRule{MessageType::segment_job, in(S::idle), By::no_stranger},
    OrderRule{MessageType::relayed_bytes, in(S::segment), By::no_stranger},
};

}  // namespace

bool may_order(MessageType order, AgentState state, bool stranger) {
  return std::ranges::any_of(kOrderRules, [&](const OrderRule& rule) {
    return rule.order == order && (rule.states & in(state)) != 0 && (!stranger || rule.by == By::everybody);
  });
}

std::string refusal_of(MessageType order, AgentState state, bool stranger) {
  const std::string what = "'" + name_of(order) + "'";
  if (stranger && may_order(order, state, false)) {
    return "asks for more than to send one stream (" + what + ")";
  }
  return "sends " + what + ", which an agent does not expect there";
}

}  // namespace rdcp::tree
