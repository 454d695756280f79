// Writes the orders that join several targets to a chain: each passes on to the next what it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "cli/copy/copy_orders.h"
#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sides.h"
#include "io/result.h"
#include "tree/messages/chain.h"

namespace rdcp::cli {

// Returns the size of chunks for so many targets: the last one has a chunk when it has been sent so many
// times, so the more there are, the smaller it is. wanted: the user's, or 0.
std::uint32_t chain_chunk_bytes(std::size_t targets, std::uint32_t wanted);

// Tells the agent that the copy has several targets. Error (unreachable): its version knows no chains.
io::Result<void> tell_chain(AgentSession& agent, bool passes_on);

struct ChainOrders {
  std::vector<tree::Begin> begins;    // for each target but the first
  std::vector<tree::PassOn> to_next;  // for each target but the last
};
// Says why a target cannot have this place in the chain: there is no data path to it from the one before.
struct NoLink {
  TargetSide* target;
  io::Error why;
};
// True if it has to be proven that nobody in the chain has changed what it passed on: the copy is encrypted.
// Over RDMA it is if the user has asked for it.
bool keeps_ledger(const CopyRequest& request, const CopyBegins& first, const ChainOrders& others);
// first: between the source and the first target; its chunks become as small as the smallest that fit a link.
std::variant<ChainOrders, NoLink> chain_orders(const CopyRequest& request, CopySides& sides,
                                               CopyBegins& first);

}  // namespace rdcp::cli
