#include "net/rdma/rdma_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/bytes.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

constexpr std::array kTakesPadding{std::byte{'R'}, std::byte{'D'}, std::byte{'P'}, std::byte{'1'}};

std::string text_of(const sockaddr* address) {
  SocketAddress copy;
  copy.length = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&copy.storage, address, copy.length);
  return to_address(copy).text();
}

// Returns the MTU of the path of a connected queue pair; the largest if the device tells none, as with iWARP.
std::size_t path_mtu_bytes(ibv_qp& qp) {
  constexpr std::size_t kBytesOfZero = 128;  // IBV_MTU_256 is 1
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made_with{};
  if (ibv_query_qp(&qp, &attributes, IBV_QP_PATH_MTU, &made_with) != 0) return kPaddedBytesMax;
  const ibv_mtu mtu = attributes.path_mtu;
  return mtu < IBV_MTU_256 || mtu > IBV_MTU_4096 ? kPaddedBytesMax : kBytesOfZero << mtu;
}

// A path is given up after kRetries more packets: with the first of these after a second, with the other
// after four. No path of RDMA is longer than that, but processes that were measured may have been busy.
constexpr std::uint8_t kAckTimeoutLeast = 15;  // 134 ms
constexpr std::uint8_t kAckTimeoutMost = 17;   // 537 ms

// Without this CM takes what it thinks of the path: packets are sent again after seconds. Where the kernel
// does not know the option (Linux before 5.1) that is how it stays.
void set_ack_timeout(rdma_cm_id& id, std::chrono::microseconds round_trip) {
  std::uint8_t timeout = ack_timeout(round_trip);
  (void)rdma_set_option(&id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout);
}

}  // namespace

// Queues on the way may hold a packet for longer than they did when the round trip was measured.
std::uint8_t ack_timeout(std::chrono::microseconds round_trip) {
  constexpr double kUnitMicroseconds = 4.096;
  constexpr double kRoundTrips = 4;
  std::uint8_t timeout = kAckTimeoutLeast;
  const auto waits_us = [&] { return kUnitMicroseconds * static_cast<double>(1U << timeout); };
  while (timeout < kAckTimeoutMost && waits_us() < kRoundTrips * static_cast<double>(round_trip.count())) {
    ++timeout;
  }
  return timeout;
}

std::array<std::byte, kCmWordBytes> encode(const CmWord& word) {
  std::array<std::byte, kCmWordBytes> said{};
  if (!word.takes_padding) return said;
  std::ranges::copy(kTakesPadding, said.begin());
  io::store_le(said.data() + kTakesPadding.size(), word.stream);
  return said;
}

CmWord decode_cm_word(std::span<const std::byte, kCmWordBytes> said) {
  if (!std::ranges::equal(said.first<kTakesPadding.size()>(), kTakesPadding)) return {};
  return {.takes_padding = true, .stream = io::load_le<std::uint16_t>(said.data() + kTakesPadding.size())};
}

rdma_conn_param connection_parameters(const std::array<std::byte, kCmWordBytes>& word) {
  rdma_conn_param parameters{};
  parameters.responder_resources = 0;  // no RDMA READ in either direction
  parameters.initiator_depth = 0;
  parameters.flow_control = 1;
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kReceiverNotReadyRetries;
  parameters.private_data = word.data();
  parameters.private_data_len = word.size();
  return parameters;
}

std::string local_address_text(rdma_cm_id& id) {
  return text_of(rdma_get_local_addr(&id));
}

std::string peer_address_text(rdma_cm_id& id) {
  return text_of(rdma_get_peer_addr(&id));
}

std::span<const std::byte> without_padding(std::span<const std::byte> message, std::size_t bytes) {
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  const bool padded = message.size() > bytes && std::ranges::all_of(message.subspan(bytes), is_zero);
  return padded ? message.first(bytes) : message;
}

io::Error full_packet_error(std::size_t bytes, std::string_view way) {
  return io::plain_error(
      io::ErrorKind::connection, "", "",
      fmt::format(
          "small packets arrive {0}, full ones (of {1} bytes, the path's MTU) do not: set the same MTU "
          "on both hosts, and on the switches between them",
          way, bytes));
}

RdmaConnection::RdmaConnection(EventChannel channel, CmId id, const RdmaPort& port,
                               std::unique_ptr<RdmaQueue> queue)
    : port_(port), channel_(std::move(channel)), id_(std::move(id)), queue_(std::move(queue)) {}

io::Result<RdmaConnectionPtr> RdmaConnection::create(EventChannel channel, CmId id, const RdmaPort& port,
                                                     const RdmaCall& call, std::uint16_t stream) {
  EventChannel own_channel = std::move(channel);  // so that after an error the id goes before its channel
  CmId own_id = std::move(id);
  set_ack_timeout(*own_id, call.round_trip);
  const unsigned vector = call.spreads_vectors ? stream : 0;
  auto queue = RdmaQueue::create(*own_id, rdma_queue_sizes(call.source, call.target_slots), vector);
  if (!queue) return queue.error();
  return RdmaConnectionPtr(
      new RdmaConnection(std::move(own_channel), std::move(own_id), port, std::move(*queue)));
}

RdmaConnection::~RdmaConnection() {
  disconnect();
}

// With iWARP a write of no bytes completes before anything is sent, and would show nothing.
io::Result<void> RdmaConnection::greet(std::span<const std::byte> message, bool takes_padding) {
  if (takes_padding) {
    full_packet_bytes_ = path_mtu_bytes(*id_->qp);
    const bool probes = port_.link != LinkKind::iwarp;
    if (auto probed = probes ? queue_->probe() : io::Result<void>(); !probed) return probed;
  }
  const auto sent = takes_padding ? queue_->send_padded(message, full_packet_bytes_) : queue_->send(message);
  if (!sent) return sent.error();
  return {};
}

bool RdmaConnection::has_lost_full_packet(const RdmaQueue::Completion& completion) const {
  return full_packet_bytes_ != 0 && completion.kind == RdmaQueue::Kind::sent &&
         completion.status == IBV_WC_RETRY_EXC_ERR && !queue_->probing();
}

// rdma_disconnect() fails for an id that was never connected, or whose device is gone.
void RdmaConnection::disconnect() {
  if (std::exchange(disconnected_, true)) return;
  if (rdma_disconnect(id_.get()) != 0) queue_->flush();
}

const RdmaPort& port_of(const RdmaConnection& connection) {
  return connection.port();
}

const std::optional<SealKeys>& seal_of(const RdmaConnection& connection) {
  return connection.seal();
}

void RdmaConnectionDeleter::operator()(RdmaConnection* connection) const {
  delete connection;
}

}  // namespace rdcp::net
