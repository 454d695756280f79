// Writes the orders that join several targets to a chain or a tree: each passes on what it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "cli/copy/copy_orders.h"
#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sides.h"
#include "cli/layout/target_tree.h"
#include "io/result.h"
#include "tree/messages/chain.h"

namespace rdcp::cli {

// Returns the size of chunks that pass so many targets one after the other: the last one has a chunk when it
// has been sent so many times, so the more there are, the smaller it is. wanted: the user's, or 0.
std::uint32_t chain_chunk_bytes(std::size_t depth, std::uint32_t wanted);

// Returns to how many others each target passes on: what the user wants, or what is best for what is known by
// now. All sides are ready. It is 1 where a target's version knows chains only.
unsigned fanout_of(const CopyRequest& request, const CopySides& sides);

// Tells the agent that the copy has several targets. Error (unreachable): its version knows no chains.
io::Result<void> tell_chain(AgentSession& agent, bool passes_on);

// Returns whether the agent, which has said hello, can be asked in a chain what it has of an old file.
bool knows_deltas(const AgentSession& agent);

// The link to one target but the first.
struct ChainOrder {
  std::size_t parent;    // the place of the target that passes on to it
  tree::PassOn to_next;  // for that one
  tree::Begin begin;     // for the target itself
};
using ChainOrders = std::vector<ChainOrder>;  // for places 1, 2, ...
// Says why a target cannot have this place: there is no data path to it from the one before.
struct NoLink {
  TargetSide* target;
  io::Error why;
};
// True if it has to be proven that nobody in the chain has changed what it passed on: the copy is encrypted.
// Over RDMA it is if the user has asked for it.
bool keeps_ledger(const CopyRequest& request, const CopyBegins& first, const ChainOrders& others);
// request: with a fanout. first: between the source and the first target; its chunks become as small as the
// smallest that fit a link.
std::variant<ChainOrders, NoLink> chain_orders(const CopyRequest& request, CopySides& sides,
                                               CopyBegins& first);

}  // namespace rdcp::cli
