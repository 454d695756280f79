#include "net/rdma/rdma_connection.h"

#include <cstring>
#include <utility>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

std::string text_of(const sockaddr* address) {
  SocketAddress copy;
  copy.length = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&copy.storage, address, copy.length);
  return to_address(copy).text();
}

}  // namespace

rdma_conn_param connection_parameters() {
  rdma_conn_param parameters{};
  parameters.responder_resources = 0;  // no RDMA READ in either direction
  parameters.initiator_depth = 0;
  parameters.flow_control = 1;
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kReceiverNotReadyRetries;
  return parameters;
}

std::string local_address_text(rdma_cm_id& id) {
  return text_of(rdma_get_local_addr(&id));
}

std::string peer_address_text(rdma_cm_id& id) {
  return text_of(rdma_get_peer_addr(&id));
}

RdmaConnection::RdmaConnection(EventChannel channel, CmId id, const RdmaPort& port,
                               std::unique_ptr<RdmaQueue> queue)
    : port_(port), channel_(std::move(channel)), id_(std::move(id)), queue_(std::move(queue)) {}

io::Result<RdmaConnectionPtr> RdmaConnection::create(EventChannel channel, CmId id, const RdmaPort& port,
                                                     const RdmaCall& call) {
  EventChannel own_channel = std::move(channel);  // so that after an error the id goes before its channel
  CmId own_id = std::move(id);
  auto queue = RdmaQueue::create(*own_id, rdma_queue_sizes(call.source, call.target_slots));
  if (!queue) return queue.error();
  return RdmaConnectionPtr(
      new RdmaConnection(std::move(own_channel), std::move(own_id), port, std::move(*queue)));
}

RdmaConnection::~RdmaConnection() {
  disconnect();
}

// rdma_disconnect() fails for an id that was never connected, or whose device is gone.
void RdmaConnection::disconnect() {
  if (std::exchange(disconnected_, true)) return;
  if (rdma_disconnect(id_.get()) != 0) queue_->flush();
}

const std::optional<SealKeys>& seal_of(const RdmaConnection& connection) {
  return connection.seal();
}

void RdmaConnectionDeleter::operator()(RdmaConnection* connection) const {
  delete connection;
}

}  // namespace rdcp::net
