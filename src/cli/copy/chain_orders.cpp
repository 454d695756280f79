#include "cli/copy/chain_orders.h"

#include <algorithm>

namespace rdcp::cli {

using io::Result;

namespace {

constexpr std::uint32_t kChunkBytes = 1 << 20;
// All hosts of a chain together hold this much while it fills.
constexpr std::uint32_t kBytesOfChain = 4 << 20;
// A target that passes on holds its arena, and the slots from which a device sends.
constexpr unsigned kArenasOfForwarder = 2;

// Returns what all links have in common.
DataPathWish wish_of(const CopyRequest& request, CopySides& sides) {
  DataPathWish wish;
  wish.transport = request.wish.transport;
  wish.via = request.wish.via;
  wish.streams = request.streams;
  wish.one_stream = request.standard_input;
  if (sides.round_trip.shortest()) wish.round_trip = *sides.round_trip.shortest();
  return wish;
}

Result<DataPath> path_between(DataPathWish wish, const TargetSide& from, const TargetSide& to) {
  wish.cpus = std::min(from.session->hello()->cpus, to.session->hello()->cpus);
  wish.one_stream = wish.one_stream || to.ready->kind == tree::PathKind::byte_stream;
  return choose_data_path(wish, {from.session->name(), from.ready->reach, kArenasOfForwarder},
                          {to.session->name(), to.ready->reach, kArenasOfForwarder});
}

}  // namespace

std::uint32_t chain_chunk_bytes(std::size_t targets, std::uint32_t wanted) {
  if (wanted != 0) return wanted;
  if (targets <= 1) return kChunkBytes;
  std::uint32_t bytes = kChunkBytes;
  while (bytes > kChunkBytesMin && bytes * targets > kBytesOfChain) bytes /= 2;
  return bytes;
}

Result<void> tell_chain(AgentSession& agent, bool passes_on) {
  return tell_if_known(agent, tree::JoinChain{passes_on}, "several targets");
}

bool keeps_ledger(const CopyRequest& request, const CopyBegins& first, const ChainOrders& others) {
  const auto over_tcp = [](const tree::PassOn& order) { return order.begin.rails.empty(); };
  const net::Sealing encrypt = request.wish.encrypt;
  return encrypt == net::Sealing::always || (encrypt == net::Sealing::rather && first.path.rails.empty() &&
                                             std::ranges::all_of(others.to_next, over_tcp));
}

std::variant<ChainOrders, NoLink> chain_orders(const CopyRequest& request, CopySides& sides,
                                               CopyBegins& first) {
  const auto& targets = sides.targets();
  const std::size_t links = targets.size() - 1;
  DataPathWish wish = wish_of(request, sides);
  wish.chunk_bytes = first.source.chunk_bytes;
  std::vector<DataPath> paths;
  for (std::size_t i = 0; i < links; ++i) {
    keep_family(request, targets[i + 1]->ready->reach);
    wish.targets = static_cast<unsigned>(links - i);
    auto path = path_between(wish, *targets[i], *targets[i + 1]);
    if (!path) return NoLink{targets[i + 1].get(), std::move(path).error()};
    wish.chunk_bytes = path->chunk_bytes;
    paths.push_back(std::move(*path));
  }
  first.source.chunk_bytes = first.target.chunk_bytes = wish.chunk_bytes;
  ChainOrders orders;
  for (std::size_t i = 0; i < links; ++i) {
    TargetSide& to = *targets[i + 1];
    paths[i].chunk_bytes = wish.chunk_bytes;
    tree::Begin begin = begin_for(paths[i], to.ready->reach);
    tree::PassOn to_next{.streams = request.wish, .begin = begin};
    to_next.streams.connect = tree::Connect::connect;
    to_next.streams.key = to.key;
    to_next.begin.connects = true;
    orders.to_next.push_back(std::move(to_next));
    begin.landings = first.target.landings;
    begin.beneath_parent = first.target.beneath_parent;
    begin.in_place = first.target.in_place;
    if (same_kernel(sides.source(), to)) {
      begin.source_device = sides.source().ready->sources.front().device;
      begin.source_inode = sides.source().ready->sources.front().inode;
    }
    orders.begins.push_back(std::move(begin));
  }
  return orders;
}

}  // namespace rdcp::cli
