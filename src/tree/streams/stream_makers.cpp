#include "tree/streams/stream_makers.h"

#include <utility>

#include "net/rdma/rdma.h"
#include "net/stream/record_layer.h"
#include "net/tcp/tcp.h"

namespace rdcp::tree {
namespace {

// A connection and its RecordLayer, kept until a worker takes both over.
template <class Connection>
struct Held {
  Connection connection;
  net::RecordLayer record_layer;
};

}  // namespace

io::Result<StreamMaker> maker_of(const StreamForm& form, net::ProvenSocket socket) {
  if (!socket) return StreamMaker();
  auto record_layer = net::RecordLayer::create(socket.seal, form.compress, form.source);
  if (!record_layer) return record_layer.error();
  using HeldSocket = Held<net::TcpConnection>;
  auto held = std::make_shared<HeldSocket>(
      HeldSocket{{std::move(socket.fd), socket.welcome}, std::move(*record_layer)});
  return StreamMaker([form, held](io::Ring& ring, io::Arena& arena) {
    return form.source ? net::make_tcp_source(ring, std::move(held->connection), form.shape,
                                              std::move(held->record_layer), form.congestion)
                       : net::make_tcp_target(ring, std::move(held->connection), form.shape, arena,
                                              std::move(held->record_layer));
  });
}

io::Result<StreamMaker> maker_of(const StreamForm& form, net::RdmaConnectionPtr connection,
                                 std::function<void()> prepare) {
  auto record_layer = net::RecordLayer::create(net::seal_of(*connection), form.compress, form.source);
  if (!record_layer) return record_layer.error();
  using HeldQueue = Held<net::RdmaConnectionPtr>;
  auto held = std::make_shared<HeldQueue>(HeldQueue{std::move(connection), std::move(*record_layer)});
  const auto make = [form, held](io::Ring& ring, io::Arena& arena) {
    return form.source ? net::make_rdma_source(ring, std::move(held->connection), form.shape, arena,
                                               std::move(held->record_layer))
                       : net::make_rdma_target(ring, std::move(held->connection), form.shape, arena,
                                               std::move(held->record_layer));
  };
  return StreamMaker(make, std::move(prepare));
}

StreamMaker maker_of(const StreamForm& form, std::shared_ptr<net::MemoryChannel> channel) {
  return [form, channel](io::Ring& ring, io::Arena& arena) {
    return form.source ? net::make_memory_source(ring, channel, form.shape)
                       : net::make_memory_target(ring, channel, form.shape, arena);
  };
}

}  // namespace rdcp::tree
