#include "cli/copy/chain_orders.h"

#include <algorithm>

namespace rdcp::cli {

using io::Result;

namespace {

constexpr std::uint32_t kChunkBytes = 1 << 20;
// All hosts of a chain together hold this much while it fills.
constexpr std::uint32_t kBytesOfChain = 4 << 20;

// Returns what all links have in common.
DataPathWish wish_of(const CopyRequest& request, CopySides& sides) {
  DataPathWish wish;
  wish.transport = request.wish.transport;
  wish.via = request.wish.via;
  wish.port = request.wish.port;
  wish.streams = request.streams;
  wish.one_stream = request.standard_input;
  if (sides.round_trip.shortest()) wish.round_trip = *sides.round_trip.shortest();
  return wish;
}

Result<DataPath> path_between(DataPathWish wish, const TargetSide& from, const TargetSide& to,
                              unsigned arenas) {
  wish.cpus = std::min(from.session->hello()->cpus, to.session->hello()->cpus);
  wish.one_stream = wish.one_stream || to.ready->kind == tree::PathKind::byte_stream;
  return choose_data_path(wish, {from.session->name(), from.ready->reach, arenas},
                          {to.session->name(), to.ready->reach, arenas});
}

// Returns the orders of the link to the target at this place of the tree.
ChainOrder order_for(const CopyRequest& request, const CopySides& sides, std::size_t place,
                     const DataPath& path, const CopyBegins& first) {
  const TargetSide& to = *sides.targets()[place];
  const std::size_t parent = *TargetTree(sides.targets().size(), request.fanout).parent(place);
  tree::Begin begin = begin_for(path, to.ready->reach, sides.targets()[parent]->session->hello()->protocol);
  ChainOrder order{.parent = parent, .to_next = {.streams = request.wish, .begin = begin}, .begin = begin};
  order.to_next.streams.connect = tree::Connect::connect;
  order.to_next.streams.key = to.key;
  order.to_next.begin.connects = true;
  order.begin.landings = first.target.landings;
  order.begin.beneath_parent = first.target.beneath_parent;
  order.begin.in_place = first.target.in_place;
  if (same_kernel(sides.source(), to)) {
    order.begin.source_device = sides.source().ready->sources.front().device;
    order.begin.source_inode = sides.source().ready->sources.front().inode;
  }
  return order;
}

}  // namespace

std::uint32_t chain_chunk_bytes(std::size_t depth, std::uint32_t wanted) {
  if (wanted != 0) return wanted;
  if (depth <= 1) return kChunkBytes;
  std::uint32_t bytes = kChunkBytes;
  while (bytes > kChunkBytesMin && bytes * depth > kBytesOfChain) bytes /= 2;
  return bytes;
}

unsigned fanout_of(const CopyRequest& request, const CopySides& sides) {
  const auto knows_trees = [](const auto& target) {
    return target->session->hello()->protocol >= tree::PassOn::kSeveralSince;
  };
  if (!std::ranges::all_of(sides.targets(), knows_trees)) return 1;
  if (request.fanout != 0) return request.fanout;
  const tree::Progress& walk = sides.source().progress;
  TreeFacts facts{.targets = sides.targets().size(), .chunk_bytes = request.settings.chunk_bytes};
  if (walk.total_known) facts.bytes = walk.bytes_total;
  if (sides.round_trip.shortest()) facts.round_trip = *sides.round_trip.shortest();
  return best_fanout(facts);
}

Result<void> tell_chain(AgentSession& agent, bool passes_on) {
  return tell_if_known(agent, tree::JoinChain{passes_on}, "several targets");
}

bool knows_deltas(const AgentSession& agent) {
  return agent.hello()->protocol >= tree::JoinChain::kDeltasSince;
}

bool keeps_ledger(const CopyRequest& request, const CopyBegins& first, const ChainOrders& others) {
  const auto over_tcp = [](const ChainOrder& order) { return order.begin.rails.empty(); };
  const net::Sealing encrypt = request.wish.encrypt;
  return encrypt == net::Sealing::always || (encrypt == net::Sealing::rather && first.path.rails.empty() &&
                                             std::ranges::all_of(others, over_tcp));
}

std::variant<ChainOrders, NoLink> chain_orders(const CopyRequest& request, CopySides& sides,
                                               CopyBegins& first) {
  const auto& targets = sides.targets();
  const TargetTree tree(targets.size(), request.fanout);
  DataPathWish wish = wish_of(request, sides);
  wish.chunk_bytes = first.source.chunk_bytes;
  std::vector<DataPath> paths;
  for (std::size_t place = 1; place < targets.size(); ++place) {
    TargetSide& to = *targets[place];
    keep_family(request, to.ready->reach);
    wish.targets = static_cast<unsigned>(tree.height(place));
    auto path = path_between(wish, *targets[*tree.parent(place)], to, arenas_of_targets(request));
    if (!path) return NoLink{&to, std::move(path).error()};
    wish.chunk_bytes = path->chunk_bytes;
    paths.push_back(std::move(*path));
  }
  first.source.chunk_bytes = first.target.chunk_bytes = wish.chunk_bytes;
  ChainOrders orders;
  for (std::size_t place = 1; place < targets.size(); ++place) {
    DataPath& path = paths[place - 1];
    path.chunk_bytes = wish.chunk_bytes;
    for (const io::Words& note : path.notes)
      first.path.notes.emplace_back("to " + targets[place]->session->name() + ": " + std::string(note));
    orders.push_back(order_for(request, sides, place, path, first));
  }
  return orders;
}

}  // namespace rdcp::cli
