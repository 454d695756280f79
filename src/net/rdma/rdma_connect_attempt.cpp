#include "net/rdma/rdma_connect_attempt.h"

#include <string.h>

#include <cerrno>
#include <string>
#include <utility>

#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using io::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kTryAgain{200};  // after a failed attempt
constexpr milliseconds kResolveMax{2000};
constexpr milliseconds kRefusalMax{500};  // how long a listener takes at most to turn a hello down

io::Error not_rdcp() {
  return io::plain_error(io::ErrorKind::protocol, "handshake with", "peer", "does not speak rdcp");
}

}  // namespace

RdmaConnectAttempt::RdmaConnectAttempt(const RdmaCall& call, const Rail& rail, std::size_t rail_index,
                                       std::uint16_t stream_index)
    : call_(call),
      rail_(rail),
      rail_index_(rail_index),
      stream_index_(stream_index),
      connector_(call.key, stream_index) {}

void RdmaConnectAttempt::append_polls(std::vector<pollfd>& polls) const {
  if (!under_way()) return;
  if (connecting_) polls.push_back({connecting_->fd(), POLLIN, 0});
  if (offer_ != 0) polls.push_back({call_.pairs->fd(), POLLIN, 0});
  if (channel_) polls.push_back({channel_->fd, POLLIN, 0});
  if (!connection_) return;
  polls.push_back({connection_->events_fd(), POLLIN, 0});
  polls.push_back({connection_->queue().fd(), POLLIN, 0});
}

void RdmaConnectAttempt::step() {
  if (state_ == State::waiting && Clock::now() >= attempt_at_) begin();
  if (connecting_) take_connected();
  take_answers();
  while (under_way()) {
    std::optional<CmEvent> event;
    if (connection_) event = connection_->next_event();
    if (!connection_ && channel_) event = next_cm_event(*channel_);
    if (!event) break;
    take_event(*event);
  }
  if (connection_ && under_way()) connection_->queue().take_bell();
  while (connection_ && under_way()) {
    const auto completion = connection_->queue().next();
    if (!completion) break;
    take_message(*completion);
  }
  fail_if_overdue();
}

void RdmaConnectAttempt::take_answers() {
  while (under_way() && offer_ != 0) {
    const auto answer = call_.pairs->answer_to(offer_);
    if (!answer) return;
    take_answer(*answer);
  }
}

// A queue pair that is joined by the answer greets as others do.
void RdmaConnectAttempt::take_answer(const PairAnswer& answer) {
  if (!answer.refusal.empty()) {
    return take_end(io::plain_error(io::ErrorKind::connection, "peer", peer(),
                                    "refused the connection (" + answer.refusal + ")"));
  }
  if (state_ != State::connecting) return;
  if (auto joined = connection_->join(answer.end, call_); !joined) return fail(joined.error());
  hello(true);
}

void RdmaConnectAttempt::forget_offer() {
  if (offer_ != 0) call_.pairs->forget(std::exchange(offer_, 0));
}

std::string RdmaConnectAttempt::peer() const {
  if (rail_.listening.by_hand()) return rail_.listening.address();
  return Address{rail_.listening.host, rail_.listening.listen_port}.text();
}

void RdmaConnectAttempt::begin_by_hand() {
  if (call_.pairs == nullptr) {
    return fail(io::plain_error(io::ErrorKind::connection, "", "", "it needs librdmacm"));
  }
  auto connection = RdmaConnection::create_by_hand(rail_.connecting, call_, stream_index_);
  if (!connection) return fail(connection.error());
  connection_ = std::move(*connection);
  state_ = State::connecting;
  attempt_at_ = Clock::now();
  const RdmaPort& there = rail_.listening;
  offer_ = call_.pairs->offer({.number = 0,
                               .stream = stream_index_,
                               .link = there.link,
                               .device = there.device,
                               .port = there.port,
                               .gid = there.gid,
                               .end = connection_->end()});
}

void RdmaConnectAttempt::begin() {
  if (rail_.connecting.by_hand()) return begin_by_hand();
  auto from = to_socket_address({rail_.connecting.host, 0});
  if (!from) return fail(from.error());
  auto to = to_socket_address({rail_.listening.host, rail_.listening.listen_port});
  if (!to) return fail(to.error());
  auto channel = open_event_channel();
  if (!channel) return fail(channel.error());
  channel_ = std::move(*channel);
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return fail(io::errno_error("connect to", peer(), errno, io::ErrorKind::connection));
  }
  id_.reset(id);
  if (auto marked = mark(); !marked) return fail(marked.error());
  state_ = State::resolving_address;
  attempt_at_ = Clock::now();
  // The id is bound to the rail's own address, so that a host with several ports uses this one.
  if (rdma_resolve_addr(id, from->get(), to->get(), static_cast<int>(kResolveMax.count())) != 0) {
    try_again(io::errno_error("connect to", peer(), errno, io::ErrorKind::connection),
              call_.patience.no_answer);
  }
}

// The path is resolved with the class, so it comes before the addresses are.
io::Result<void> RdmaConnectAttempt::mark() const {
  if (!call_.traffic_class) return {};
  std::uint8_t tos = *call_.traffic_class;
  if (rdma_set_option(id_.get(), RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) == 0) return {};
  if (is_iwarp()) return {};  // whose packets are those of TCP; not each device can mark them
  return io::plain_error(io::ErrorKind::connection, "connect to", peer(),
                         std::string("its traffic class cannot be set: ") + ::strerrordesc_np(errno));
}

void RdmaConnectAttempt::take_event(const CmEvent& event) {
  if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED && state_ == State::resolving_address) {
    state_ = State::resolving_route;
    if (rdma_resolve_route(id_.get(), static_cast<int>(kResolveMax.count())) != 0) {
      try_again(io::errno_error("connect to", peer(), errno, io::ErrorKind::connection),
                call_.patience.no_answer);
    }
  } else if (event.type == RDMA_CM_EVENT_ROUTE_RESOLVED && state_ == State::resolving_route) {
    connect();
  } else if (event.type == RDMA_CM_EVENT_ESTABLISHED && state_ == State::connecting) {
    const CmWord said = decode_cm_word(event.said);
    connection_->set_peer_beats(said.beats);
    hello(said.takes_padding);
  } else if (event.type == RDMA_CM_EVENT_REJECTED || event.type == RDMA_CM_EVENT_DISCONNECTED) {
    take_end(cm_error(event.type, event.status, peer()));
  } else {
    try_again(cm_error(event.type, event.status, peer()), call_.patience.no_answer);
  }
}

// The listener has refused the connection, or closed it.
void RdmaConnectAttempt::take_end(const io::Error& error) {
  if (lost_challenge()) return fail(full_packet_error(connection_->full_packet_bytes(), "from there"));
  if (lost_hello()) return fail(full_packet_error(connection_->full_packet_bytes(), "there"));
  refused_ = true;
  try_again(error, call_.patience.refused);
}

void RdmaConnectAttempt::connect() {
  auto connection =
      RdmaConnection::create(std::move(channel_), std::move(id_), rail_.connecting, call_, stream_index_);
  if (!connection) return fail(connection.error());
  state_ = State::connecting;
  const CmWord word{.takes_padding = true, .stream = stream_index_, .beats = is_iwarp()};
  if (is_iwarp()) {
    auto connecting = RdmaConnectThread::start(std::move(*connection), word);
    if (!connecting) return fail(connecting.error());
    connecting_.emplace(std::move(*connecting));
    return;
  }
  connection_ = std::move(*connection);
  const auto said = encode(word);
  rdma_conn_param parameters = connection_parameters(said);
  if (rdma_connect(&connection_->id(), &parameters) != 0) take_connect_error(errno);
}

void RdmaConnectAttempt::take_connected() {
  const auto result = connecting_->result();
  if (!result) return;
  connection_ = connecting_->take();
  connecting_.reset();
  if (*result != 0) take_connect_error(*result);
}

void RdmaConnectAttempt::take_connect_error(int code) {
  if (code == ECONNREFUSED) return take_end(cm_error(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, peer()));
  try_again(io::errno_error("connect to", peer(), code, io::ErrorKind::connection), call_.patience.no_answer);
}

void RdmaConnectAttempt::hello(bool takes_padding) {
  state_ = State::challenged;
  greeted_ = Clock::now();
  if (auto sent = connection_->greet(connector_.hello(), takes_padding); !sent) fail(sent.error());
}

// A listener that turns a hello down does so at once. One that closes the connection later has waited for its
// device to give up the challenge, which it pads as well.
bool RdmaConnectAttempt::lost_challenge() const {
  return hello_arrived_ != Clock::time_point() && Clock::now() - hello_arrived_ >= kRefusalMax;
}

// A listener that has waited for the hello in vain may close the connection before the device here gives up.
// With iWARP nobody knows what has arrived.
bool RdmaConnectAttempt::lost_hello() const {
  return state_ == State::challenged && connection_->full_packet_bytes() != 0 && !is_iwarp() &&
         hello_arrived_ == Clock::time_point() && Clock::now() - greeted_ >= kRefusalMax;
}

void RdmaConnectAttempt::take_message(const RdmaQueue::Completion& completion) {
  if (completion.status != IBV_WC_SUCCESS) return take_failure(completion);
  const bool padded = connection_->full_packet_bytes() != 0;
  if (completion.kind == RdmaQueue::Kind::sent && padded && !is_iwarp()) hello_arrived_ = Clock::now();
  if (completion.kind != RdmaQueue::Kind::received) return;
  if (connection_->is_farewell(completion)) {
    return take_end(cm_error(RDMA_CM_EVENT_DISCONNECTED, 0, peer()));
  }
  const auto message = without_padding(connection_->queue().received(completion), kChallengeBytes);
  if (state_ != State::challenged || message.size() != kChallengeBytes) {
    return fail(not_rdcp());
  }
  take_challenge(message.first<kChallengeBytes>(), completion.index);
}

void RdmaConnectAttempt::take_failure(const RdmaQueue::Completion& completion) {
  if (connection_->has_lost_full_packet(completion)) {
    return fail(full_packet_error(connection_->full_packet_bytes(), "there"));
  }
  // CM has met the peer before; without it this is the first sign that nobody is there.
  const bool unmet = connection_->by_hand() && completion.status == IBV_WC_RETRY_EXC_ERR;
  try_again(completion_error(completion.status, peer()),
            unmet ? call_.patience.no_answer : call_.patience.refused);
}

// index: of the receive that it came in.
void RdmaConnectAttempt::take_challenge(std::span<const std::byte, kChallengeBytes> challenge,
                                        std::uint32_t index) {
  const auto proof = connector_.answer(challenge);
  if (!proof) return fail(proof.error());
  const auto seal = connector_.seal_keys(challenge);
  if (!seal) return fail(seal.error());
  connection_->set_seal(*seal);
  if (auto posted = connection_->queue().repost(index); !posted) return fail(posted.error());
  if (auto sent = connection_->queue().send(*proof); !sent) return fail(sent.error());
  forget_offer();
  state_ = State::proven;
}

void RdmaConnectAttempt::try_again(const io::Error& error, Clock::duration limit) {
  if (Clock::now() + kTryAgain >= started_ + limit) return fail(error);
  connecting_.reset();
  forget_offer();
  connection_.reset();
  id_.reset();
  channel_.reset();
  hello_arrived_ = {};
  state_ = State::waiting;
  attempt_at_ = Clock::now() + kTryAgain;
}

// Keeps only the cause, because whoever reports it names the address.
void RdmaConnectAttempt::fail(const io::Error& error) {
  cause_ = cause_of(error);
  connecting_.reset();
  forget_offer();
  connection_.reset();
  id_.reset();
  channel_.reset();
}

void RdmaConnectAttempt::fail_if_overdue() {
  if (!under_way() || state_ == State::waiting) return;
  const bool greeted = state_ == State::challenged;
  if (Clock::now() - attempt_at_ < (greeted ? call_.key.time_limit : call_.patience.no_answer)) return;
  const std::size_t full = greeted ? connection_->full_packet_bytes() : 0;
  // Who takes padding speaks rdcp.
  if (full != 0) {
    const bool has_arrived = hello_arrived_ != Clock::time_point();
    return fail(full_packet_error(full, is_iwarp()    ? "there and back"
                                        : has_arrived ? "from there"
                                                      : "there"));
  }
  const char* missing = greeted ? "connected, but does not speak rdcp" : "does not answer";
  fail(io::plain_error(io::ErrorKind::connection, "", "", missing));
}

io::Result<bool> PendingRdma::step(std::uint16_t stream_count) {
  if (auto still_there = take_events(); !still_there) return still_there.error();
  connection_->queue().take_bell();
  // Takes not a message more than the proof, because what follows it belongs to the stream.
  while (const auto completion = connection_->queue().next()) {
    const auto proven = take_message(*completion, stream_count);
    if (!proven || *proven) return proven;
  }
  return false;
}

// This does not wait for ESTABLISHED, because the peer's first message may arrive before that event.
io::Result<void> PendingRdma::take_events() {
  while (const auto event = connection_->next_event()) {
    if (event->type != RDMA_CM_EVENT_ESTABLISHED) return cm_error(event->type, event->status, peer());
  }
  return {};
}

io::Result<bool> PendingRdma::take_message(const RdmaQueue::Completion& completion,
                                           std::uint16_t stream_count) {
  if (connection_->has_lost_full_packet(completion)) {
    return full_packet_error(connection_->full_packet_bytes(), "there");
  }
  if (completion.status != IBV_WC_SUCCESS) return completion_error(completion.status, peer());
  if (completion.kind != RdmaQueue::Kind::received) return false;
  if (connection_->is_farewell(completion)) return cm_error(RDMA_CM_EVENT_DISCONNECTED, 0, peer());
  const auto message = connection_->queue().received(completion);
  if (!challenged_) {
    if (auto answered = answer_hello(message, stream_count); !answered) return answered.error();
  } else {
    if (message.size() != kProofBytes) return not_rdcp();
    if (auto proven = listener_.check(message.first<kProofBytes>()); !proven) return proven.error();
    const auto seal = listener_.seal_keys();
    if (!seal) return seal.error();
    connection_->set_seal(*seal);
  }
  if (auto posted = connection_->queue().repost(completion.index); !posted) return posted.error();
  return std::exchange(challenged_, true);
}

io::Result<void> PendingRdma::answer_hello(std::span<const std::byte> message, std::uint16_t stream_count) {
  const auto hello = without_padding(message, kHelloBytes);
  if (hello.size() != kHelloBytes) return not_rdcp();
  const auto challenge = listener_.challenge(hello.first<kHelloBytes>(), stream_count);
  if (!challenge) return challenge.error();
  return connection_->greet(*challenge, takes_padding_);
}

}  // namespace rdcp::net
