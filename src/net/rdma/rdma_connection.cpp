#include "net/rdma/rdma_connection.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "io/bytes.h"
#include "net/rails/rdma_facts.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

constexpr std::array kTakesPadding{std::byte{'R'}, std::byte{'D'}, std::byte{'P'}, std::byte{'1'}};
constexpr std::size_t kBeatsAt = 6;

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

// The times of a device are codes (InfiniBand Architecture Specification, table 45): 0 stands for 655.36 ms.
constexpr std::uint8_t kReceiverNotReadyTimer = 0;
// Numbers of packets have so many bits.
constexpr std::uint32_t kNumberBits = 0xffffff;
// As many routers as IP's packets pass at most, unless somebody has set another number (ip-sysctl).
constexpr std::uint8_t kHopLimit = 64;

ibv_gid as_gid(const GidBytes& bytes) {
  ibv_gid gid{};
  std::memcpy(gid.raw, bytes.data(), bytes.size());
  return gid;
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
  said[kBeatsAt] = std::byte{word.beats};
  return said;
}

CmWord decode_cm_word(std::span<const std::byte, kCmWordBytes> said) {
  if (!std::ranges::equal(said.first<kTakesPadding.size()>(), kTakesPadding)) return {};
  return {.takes_padding = true,
          .stream = io::load_le<std::uint16_t>(said.data() + kTakesPadding.size()),
          .beats = said[kBeatsAt] == std::byte{1}};
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

RdmaConnection::RdmaConnection(DeviceContext device, const RdmaPort& port, std::unique_ptr<RdmaQueue> queue)
    : port_(port), device_(std::move(device)), queue_(std::move(queue)) {}

io::Result<RdmaConnectionPtr> RdmaConnection::create(EventChannel channel, CmId id, const RdmaPort& port,
                                                     const RdmaCall& call, std::uint16_t stream) {
  EventChannel own_channel = std::move(channel);  // so that after an error the id goes before its channel
  CmId own_id = std::move(id);
  set_ack_timeout(*own_id, call.round_trip);
  const unsigned vector = call.spreads_vectors ? stream : 0;
  const QueuePairPlace place{own_id->verbs, own_id->port_num, own_id.get()};
  auto queue = RdmaQueue::create(place, rdma_queue_sizes(call.source, call.target_slots), vector);
  if (!queue) return queue.error();
  return RdmaConnectionPtr(
      new RdmaConnection(std::move(own_channel), std::move(own_id), port, std::move(*queue)));
}

io::Result<RdmaConnectionPtr> RdmaConnection::create_by_hand(const RdmaPort& port, const RdmaCall& call,
                                                             std::uint16_t stream,
                                                             std::optional<bool> routable) {
  auto device = open_device(port.device);
  if (!device) return device.error();
  const unsigned vector = call.spreads_vectors ? stream : 0;
  const QueuePairPlace place{device->get(), port.port};
  auto queue = RdmaQueue::create(place, rdma_queue_sizes(call.source, call.target_slots), vector);
  if (!queue) return queue.error();
  RdmaConnectionPtr made(new RdmaConnection(std::move(*device), port, std::move(*queue)));
  if (auto found = made->find_end(routable); !found) return found.error();
  if (port.link == LinkKind::infiniband && call.traffic_class) {
    made->end_.service_level = service_level_of(*call.traffic_class);
  }
  return made;
}

// Finds out what the peer needs to know.
io::Result<void> RdmaConnection::find_end(std::optional<bool> routable) {
  ibv_port_attr attributes{};
  if (const int code = ibv_query_port(device_.get(), port_.port, &attributes)) {
    return device_error("query", port_.device, code);
  }
  const auto entries = gids_of(*device_);
  const ibv_gid_entry* found = nullptr;
  for (const ibv_gid_entry& entry : entries) {
    const bool is_routable = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    if (entry.port_num != port_.port || gid_text(entry.gid) != port_.gid) continue;
    if (routable && *routable != is_routable) continue;
    if (found == nullptr || is_routable) found = &entry;
  }
  if (found == nullptr || found->gid_index > std::numeric_limits<std::uint8_t>::max()) {
    return device_error("find GID " + short_gid(port_.gid) + " of", port_.device, ENOENT);
  }
  gid_index_ = static_cast<std::uint8_t>(found->gid_index);
  needs_global_header_ = port_.link == LinkKind::roce || (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  std::uint32_t drawn = 0;
  if (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
    return device_error("number packets of", port_.device);
  end_.lid = port_.link == LinkKind::infiniband ? attributes.lid : std::uint16_t{0};
  std::memcpy(end_.gid.data(), found->gid.raw, end_.gid.size());
  end_.routable = found->gid_type == IBV_GID_TYPE_ROCE_V2;
  end_.queue_pair = queue_->queue_pair()->qp_num;
  end_.first_packet = drawn & kNumberBits;
  end_.mtu = static_cast<std::uint8_t>(std::clamp(attributes.active_mtu, IBV_MTU_256, IBV_MTU_4096));
  if (const std::string fault = fault_of(end_, port_.link); !fault.empty()) {
    return io::plain_error(io::ErrorKind::connection, "use RDMA device", port_.device, fault);
  }
  return {};
}

// The attributes are those that CM gives its queue pairs.
io::Result<void> RdmaConnection::join(const PairEnd& peer, const RdmaCall& call) {
  const auto failed = [this](int code) {
    return device_error("bring up a queue pair of", port_.device, code);
  };
  if (const std::string fault = fault_of(peer, port_.link); !fault.empty()) {
    return io::plain_error(io::ErrorKind::protocol, "connect to", "peer", fault);
  }
  if (port_.link == LinkKind::roce && peer.routable != end_.routable) {
    return io::plain_error(io::ErrorKind::connection, "connect to", "peer", "it has another version of RoCE");
  }
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = static_cast<ibv_mtu>(std::min<std::uint8_t>(peer.mtu, end_.mtu));
  ready.dest_qp_num = peer.queue_pair;
  ready.rq_psn = peer.first_packet;
  ready.min_rnr_timer = kReceiverNotReadyTimer;
  ready.ah_attr.dlid = peer.lid;
  ready.ah_attr.sl = end_.service_level != 0 ? end_.service_level : peer.service_level;
  ready.ah_attr.port_num = port_.port;
  if (needs_global_header_) {
    ready.ah_attr.is_global = 1;
    std::memcpy(ready.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    ready.ah_attr.grh.sgid_index = gid_index_;
    ready.ah_attr.grh.hop_limit = kHopLimit;
    const int otherwise = std::max(default_tos(port_.device, port_.port), 0);
    ready.ah_attr.grh.traffic_class = call.traffic_class.value_or(static_cast<std::uint8_t>(otherwise));
  }
  constexpr int kReady = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (const int code = ibv_modify_qp(queue_->queue_pair(), &ready, kReady)) return failed(code);
  ibv_qp_attr sending{};
  sending.qp_state = IBV_QPS_RTS;
  sending.timeout = ack_timeout(call.round_trip);
  sending.retry_cnt = kRetries;
  sending.rnr_retry = kReceiverNotReadyRetries;
  sending.sq_psn = end_.first_packet;
  constexpr int kSending = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  if (const int code = ibv_modify_qp(queue_->queue_pair(), &sending, kSending)) return failed(code);
  peer_end_ = peer;
  joined_ = true;
  return {};
}

std::optional<CmEvent> RdmaConnection::next_event() {
  return channel_ ? next_cm_event(*channel_) : std::nullopt;
}

bool RdmaConnection::is_beat(const RdmaQueue::Completion& completion) const {
  return beats_ && completion.kind == RdmaQueue::Kind::received && completion.status == IBV_WC_SUCCESS &&
         completion.bytes == 0;
}

bool RdmaConnection::is_farewell(const RdmaQueue::Completion& completion) const {
  return by_hand() && completion.kind == RdmaQueue::Kind::received && completion.status == IBV_WC_SUCCESS &&
         completion.bytes == 0;
}

void RdmaConnection::take_farewell() {
  if (!std::exchange(disconnected_, true)) queue_->flush();
}

QueuePairPlace RdmaConnection::place() const {
  if (by_hand()) return {device_.get(), port_.port};
  return {id_->verbs, id_->port_num, id_.get()};
}

std::string RdmaConnection::local_text() const {
  return by_hand() ? address_in(port_.gid) : local_address_text(*id_);
}

std::string RdmaConnection::peer_text() const {
  return by_hand() ? address_in(gid_text(as_gid(peer_end_.gid))) : peer_address_text(*id_);
}

RdmaConnection::~RdmaConnection() {
  disconnect();
}

// With iWARP a write of no bytes completes before anything is sent, and would show nothing.
io::Result<void> RdmaConnection::greet(std::span<const std::byte> message, bool takes_padding) {
  if (takes_padding) {
    full_packet_bytes_ = path_mtu_bytes(*queue_->queue_pair());
    if (auto probed = is_iwarp() ? io::Result<void>() : queue_->probe(); !probed) return probed;
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
  if (by_hand()) {
    const bool said = joined_ && queue_->can_send() && queue_->send({}).ok();
    if (!said) queue_->flush();
    return;
  }
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
