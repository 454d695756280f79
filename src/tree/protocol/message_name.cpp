#include "tree/protocol/message_name.h"

#include <array>
#include <string_view>

namespace rdcp::tree {
namespace {

// The names are in the order of MessageType, starting with hello.
constexpr std::array<std::string_view, 64> kNames = {
    "hello",
    "ping",
    "pong",
    "source_job",
    "target_job",
    "source_ready",
    "target_ready",
    "begin",
    "progress",
    "problem",
    "done",
    "beat",
    "suspend",
    "abort",
    "finish",
    "measure_job",
    "measure_ready",
    "measured",
    "examine",
    "findings",
    "segment_job",
    "segment_end",
    "relayed_bytes",
    "paths_named",
    "changes",
    "clean_job",
    "leftovers",
    "sums",
    "list_job",
    "list_more",
    "listed",
    "sum_ask",
    "sum_told",
    "stream_lost",
    "knock",
    "knocked",
    "stay",
    "ack",
    "rejoin",
    "unlisted",
    "target_wishes",
    "alterations",
    "find_paths",
    "paths_found",
    "source_wishes",
    "explain_problems",
    "explained_problem",
    "join_chain",
    "pass_on",
    "next_lost",
    "keep_ledger",
    "ledger",
    "branch_lost",
    "tell_pace",
    "pace",
    "path_told",
    "end_when_done",
    "mark_packets",
    "leave_placement",
    "pair_offered",
    "pair_answered",
    "grow_streams",
    "use_streams",
    "prove_early",
};
static_assert(kNames.size() == static_cast<std::size_t>(MessageType::prove_early));

}  // namespace

std::string name_of(MessageType type) {
  const auto number = static_cast<std::size_t>(type);
  if (number == 0 || number > kNames.size()) return "message " + std::to_string(number);
  return std::string(kNames[number - 1]);
}

}  // namespace rdcp::tree
