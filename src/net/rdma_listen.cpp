#include <poll.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <string>
#include <utility>

#include "io/ring.h"
#include "net/rdma_connect.h"
#include "net/rdma_connection.h"
#include "net/sockets.h"

namespace rdcp::net {
namespace {

using io::Clock;

constexpr int kBacklog = 16;
constexpr std::chrono::milliseconds kLookUp{100};  // how often `stop` is looked at

// A connection whose peer has not yet proven itself.
class PendingRdma {
 public:
  PendingRdma(RdmaConnectionPtr connection, const HandshakeTerms& terms)
      : connection_(std::move(connection)), deadline_(Clock::now() + kHandshakeTimeout), listener_(terms) {}

  Clock::time_point deadline() const { return deadline_; }
  std::uint16_t stream_index() const { return listener_.stream_index(); }
  std::string peer() const { return peer_address_text(connection_->id()); }
  RdmaConnectionPtr take() { return std::move(connection_); }
  void append_polls(std::vector<pollfd>& polls) const {
    polls.push_back({connection_->channel().fd, POLLIN, 0});
    polls.push_back({connection_->queue().fd(), POLLIN, 0});
  }

  // Goes as far as the messages that are there lead. True: proven. An error: drop it.
  io::Result<bool> step(std::uint16_t stream_count);

 private:
  io::Result<void> take_events();
  io::Result<bool> take_message(const RdmaQueue::Completion& completion, std::uint16_t stream_count);
  io::Result<void> answer_hello(std::span<const std::byte> message, std::uint16_t stream_count);

  RdmaConnectionPtr connection_;
  Clock::time_point deadline_;
  Listener listener_;
  bool challenged_ = false;
};

io::Error not_rdcp() {
  return io::plain_error(io::ErrorKind::protocol, "handshake with", "peer", "does not speak rdcp");
}

io::Result<bool> PendingRdma::step(std::uint16_t stream_count) {
  if (auto still_there = take_events(); !still_there) return still_there.error();
  connection_->queue().take_bell();
  // Not a message more than the proof: what follows it belongs to the stream.
  while (const auto completion = connection_->queue().next()) {
    const auto proven = take_message(*completion, stream_count);
    if (!proven || *proven) return proven;
  }
  return false;
}

// The peer's first message may be here before the event that says that the connection is made.
io::Result<void> PendingRdma::take_events() {
  while (const auto event = next_cm_event(connection_->channel())) {
    if (event->type != RDMA_CM_EVENT_ESTABLISHED) return cm_error(event->type, event->status, peer());
  }
  return {};
}

io::Result<bool> PendingRdma::take_message(const RdmaQueue::Completion& completion,
                                           std::uint16_t stream_count) {
  if (completion.status != IBV_WC_SUCCESS) return completion_error(completion.status, peer());
  if (completion.kind != RdmaQueue::Kind::received) return false;
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
  if (message.size() != kHelloBytes) return not_rdcp();
  const auto challenge = listener_.challenge(message.first<kHelloBytes>(), stream_count);
  if (!challenge) return challenge.error();
  if (auto sent = connection_->queue().send(*challenge); !sent) return sent.error();
  return {};
}

// The unproven and the proven connections of one accept_all().
class RdmaReception {
 public:
  RdmaReception(const RdmaCall& call, const std::vector<RdmaPort>& ports)
      : call_(call), ports_(ports), proven_(call.stream_count) {}

  bool complete() const {
    return std::ranges::all_of(proven_, [](const RdmaConnectionPtr& one) { return bool(one); });
  }
  RdmaConnections take() { return std::move(proven_); }
  const std::string& last_refusal() const { return last_refusal_; }

  void wait(rdma_event_channel& listening, Clock::duration max_wait) const;
  void serve(rdma_event_channel& listening);

 private:
  void take_request(CmId id);
  io::Result<void> accept(CmId id);
  const RdmaPort& port_of(rdma_cm_id& id) const;
  void step(std::list<PendingRdma>::iterator pending);
  void drop_overdue();
  void refuse(std::list<PendingRdma>::iterator pending, const std::string& why);

  const RdmaCall& call_;
  const std::vector<RdmaPort>& ports_;
  std::list<PendingRdma> pending_;  // the oldest first
  RdmaConnections proven_;
  std::string last_refusal_;
};

void RdmaReception::wait(rdma_event_channel& listening, Clock::duration max_wait) const {
  std::vector<pollfd> polls{{listening.fd, POLLIN, 0}};
  for (const PendingRdma& pending : pending_) pending.append_polls(polls);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(max_wait);
  ::poll(polls.data(), polls.size(), static_cast<int>(wait.count()));
}

// At most kPendingMax new ones at a time, so that those already here are served in between.
void RdmaReception::serve(rdma_event_channel& listening) {
  for (auto next = pending_.begin(); next != pending_.end();) step(next++);
  drop_overdue();
  for (std::size_t i = 0; i < RdmaListener::kPendingMax; ++i) {
    const auto event = next_cm_event(listening);
    if (!event) return;
    if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      take_request(CmId(event->id));
    } else {
      last_refusal_ = cause_of(cm_error(event->type, event->status, "listener"));
    }
  }
}

// Destroying a requested id turns the request down.
void RdmaReception::take_request(CmId id) {
  if (pending_.size() == RdmaListener::kPendingMax) {
    refuse(pending_.begin(), "was closed for newer ones before it proved itself");
  }
  const std::string peer = peer_address_text(*id);
  if (auto accepted = accept(std::move(id)); !accepted)
    last_refusal_ = peer + " " + accepted.error().message();
}

io::Result<void> RdmaReception::accept(CmId id) {
  auto channel = open_event_channel();
  if (!channel) return channel.error();
  const auto refused = [] { return io::errno_error("accept", "", errno, io::ErrorKind::connection); };
  // A channel of its own: the listener's closes before the stream begins, and each stream polls its own.
  if (rdma_migrate_id(id.get(), channel->get()) != 0) return refused();
  const RdmaPort& port = port_of(*id);
  auto connection = RdmaConnection::create(std::move(*channel), std::move(id), port, call_);
  if (!connection) return connection.error();
  rdma_conn_param parameters = connection_parameters();
  if (rdma_accept(&(*connection)->id(), &parameters) != 0) return refused();
  pending_.emplace_back(std::move(*connection), call_.key);
  return {};
}

// A request comes in at an address that is listened on.
const RdmaPort& RdmaReception::port_of(rdma_cm_id& id) const {
  const std::string here = local_address_text(id);
  const auto same = [&](const RdmaPort& port) {
    return port.listen_port != 0 && Address{port.host, port.listen_port}.text() == here;
  };
  const auto found = std::ranges::find_if(ports_, same);
  return found == ports_.end() ? ports_.front() : *found;
}

void RdmaReception::step(std::list<PendingRdma>::iterator pending) {
  const auto proven = pending->step(static_cast<std::uint16_t>(proven_.size()));
  if (!proven) {
    refuse(pending, cause_of(proven.error()));
  } else if (*proven) {
    proven_[pending->stream_index()] = pending->take();
    pending_.erase(pending);
  }
}

void RdmaReception::drop_overdue() {
  while (!pending_.empty() && pending_.front().deadline() <= Clock::now()) {
    refuse(pending_.begin(), "said nothing that proves it in time");
  }
}

void RdmaReception::refuse(std::list<PendingRdma>::iterator pending, const std::string& why) {
  last_refusal_ = pending->peer() + " " + why;
  pending_.erase(pending);
}

io::Result<CmId> listen_on(rdma_event_channel& channel, const std::string& host, std::uint16_t at) {
  auto address = to_socket_address({host, at});
  if (!address) return address.error();
  const auto failed = [&] {
    return io::errno_error("listen for RDMA on", host, errno, io::ErrorKind::connection);
  };
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(&channel, &raw, nullptr, RDMA_PS_TCP) != 0) return failed();
  CmId id(raw);
  if (rdma_bind_addr(raw, address->get()) != 0 || rdma_listen(raw, kBacklog) != 0) return failed();
  return id;
}

io::Error gave_up(const std::string& last_refusal) {
  std::string detail = "the other side did not connect in time";
  if (!last_refusal.empty()) detail += "; last refused: " + last_refusal;
  return io::plain_error(io::ErrorKind::connection, "accept", "RDMA connections", detail);
}

}  // namespace

struct RdmaListener::Ids {
  std::vector<RdmaPort> ports;
  EventChannel channel;
  std::vector<CmId> ids;
};

RdmaListener::RdmaListener(std::unique_ptr<Ids> ids) : ids_(std::move(ids)) {}
RdmaListener::RdmaListener(RdmaListener&&) noexcept = default;
RdmaListener& RdmaListener::operator=(RdmaListener&&) noexcept = default;
RdmaListener::~RdmaListener() = default;

io::Result<RdmaListener> RdmaListener::open(std::vector<RdmaPort>& ports, std::uint16_t at) {
  auto ids = std::make_unique<Ids>();
  auto channel = open_event_channel();
  if (!channel) return channel.error();
  ids->channel = std::move(*channel);
  io::Error last = io::plain_error(io::ErrorKind::connection, "listen for", "RDMA", "there is no port");
  for (RdmaPort& port : ports) {
    port.listen_port = 0;
    auto id = listen_on(*ids->channel, port.host, at);
    if (!id) {
      last = id.error();
      continue;
    }
    port.listen_port = ntohs(rdma_get_src_port(id->get()));
    ids->ids.push_back(std::move(*id));
  }
  if (ids->ids.empty()) return last;
  ids->ports = ports;
  return RdmaListener(std::move(ids));
}

io::Result<RdmaConnections> RdmaListener::accept_all(const RdmaCall& call) {
  const std::unique_ptr<Ids> listening = std::move(ids_);
  const auto until = Clock::now() + call.deadline;
  RdmaReception reception(call, listening->ports);
  while (!reception.complete()) {
    if (call.stop.load()) {
      return io::plain_error(io::ErrorKind::interrupted, "accept", "RDMA connections", "stopped");
    }
    const auto now = Clock::now();
    if (now >= until) return gave_up(reception.last_refusal());
    reception.wait(*listening->channel, std::min<Clock::duration>(kLookUp, until - now));
    reception.serve(*listening->channel);
  }
  return reception.take();
}

}  // namespace rdcp::net
