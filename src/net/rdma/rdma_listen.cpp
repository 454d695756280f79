#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <string>
#include <utility>

#include "io/ring.h"
#include "net/rdma/rdma_connect.h"
#include "net/rdma/rdma_connect_attempt.h"
#include "net/rdma/rdma_connection.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using io::Clock;

constexpr int kBacklog = 16;
constexpr std::chrono::seconds kListenAgain{1};  // how often to try after a device was removed

io::Result<CmId> listen_once(rdma_event_channel& channel, const std::string& host, std::uint16_t at) {
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

bool is_taken(const io::Result<CmId>& id) {
  return !id && id.error().code == EADDRINUSE;
}

// A number that the kernel picks is free of RDMA, but with iWARP TCP may have it.
io::Result<CmId> listen_on(rdma_event_channel& channel, const std::string& host, std::uint16_t at) {
  constexpr int kTriesMax = 10;
  auto id = listen_once(channel, host, at);
  for (int tries = 1; at == 0 && is_taken(id) && tries < kTriesMax; ++tries) {
    id = listen_once(channel, host, at);
  }
  return id;
}

// This host's ports, and an id that listens on each.
class ListeningIds {
 public:
  // See RdmaListener::open(). With iWARP it may also listen `elsewhere`.
  io::Result<void> open(std::vector<RdmaPort>& ports, std::uint16_t at, bool elsewhere);
  // Returns -1 if there is none, because no port has an address.
  int events_fd() const { return channel_ ? channel_->fd : -1; }
  std::optional<CmEvent> next_event() { return channel_ ? next_cm_event(*channel_) : std::nullopt; }
  // Returns the port without a host that is meant; null if there is none.
  const RdmaPort* port_of(const PairOffer& offer) const;
  // Returns the port at whose address this request has come in.
  const RdmaPort& port_of(rdma_cm_id& id) const;
  // To be called when this id's device is gone.
  void remove(const rdma_cm_id* id);
  void listen_again();
  int interrupted() const { return interrupted_.fd(); }
  void interrupt() const;

 private:
  struct Id {
    RdmaPort port;
    CmId id;  // null while its device is gone
  };
  EventChannel channel_;
  std::vector<Id> ids_;
  std::vector<RdmaPort> by_hand_;
  io::Event interrupted_;
  Clock::time_point listen_again_;
};

io::Result<void> ListeningIds::open(std::vector<RdmaPort>& ports, std::uint16_t at, bool elsewhere) {
  auto channel = open_event_channel();
  auto interrupted = io::Event::create();
  if (!interrupted) {
    return io::errno_error("listen for", "RDMA", interrupted.error().code, io::ErrorKind::connection);
  }
  interrupted_ = std::move(*interrupted);
  io::Error last = io::plain_error(io::ErrorKind::connection, "listen for", "RDMA", "there is no port");
  if (channel) {
    channel_ = std::move(*channel);
  } else {
    last = channel.error();
  }
  for (RdmaPort& port : ports) {
    port.listen_port = 0;
    if (port.by_hand()) by_hand_.push_back(port);
    if (port.by_hand() || !channel_) continue;
    auto id = listen_on(*channel_, port.host, at);
    if (is_taken(id) && elsewhere && port.link == LinkKind::iwarp) id = listen_on(*channel_, port.host, 0);
    if (!id) {
      last = id.error();
      continue;
    }
    port.listen_port = ntohs(rdma_get_src_port(id->get()));
    ids_.push_back({port, std::move(*id)});
  }
  const bool other_number_may_do = last.code == EADDRINUSE;
  if (ids_.empty() && (by_hand_.empty() || other_number_may_do)) return last;
  return {};
}

const RdmaPort* ListeningIds::port_of(const PairOffer& offer) const {
  const auto found = std::ranges::find_if(by_hand_, [&](const RdmaPort& port) {
    return port.device == offer.device && port.port == offer.port && port.gid == offer.gid &&
           port.link == offer.link;
  });
  return found == by_hand_.end() ? nullptr : &*found;
}

const RdmaPort& ListeningIds::port_of(rdma_cm_id& id) const {
  const std::string here = local_address_text(id);
  const auto found = std::ranges::find_if(ids_, [&](const Id& one) {
    return Address{one.port.host, one.port.listen_port}.text() == here;
  });
  return found == ids_.end() ? ids_.front().port : found->port;
}

void ListeningIds::remove(const rdma_cm_id* id) {
  for (Id& one : ids_) {
    if (one.id.get() == id) one.id.reset();
  }
}

void ListeningIds::listen_again() {
  const bool all_there = std::ranges::all_of(ids_, [](const Id& one) { return bool(one.id); });
  if (all_there || !channel_ || Clock::now() < listen_again_) return;
  listen_again_ = Clock::now() + kListenAgain;
  for (Id& one : ids_) {
    if (one.id) continue;
    if (auto id = listen_on(*channel_, one.port.host, one.port.listen_port)) one.id = std::move(*id);
  }
}

void ListeningIds::interrupt() const {
  interrupted_.signal();
}

// The unproven and the proven connections of one accept_all().
class RdmaAcceptor {
 public:
  // With only_one, accepts one connection with any number below call.stream_count.
  RdmaAcceptor(const RdmaCall& call, ListeningIds& listening, bool only_one)
      : call_(call), listening_(listening), only_one_(only_one), proven_(only_one ? 1 : call.stream_count) {}

  bool complete() const {
    return std::ranges::all_of(proven_, [](const RdmaConnectionPtr& one) { return bool(one); });
  }
  RdmaConnections take() { return std::move(proven_); }
  std::uint16_t last_number() const { return last_number_; }
  const std::string& last_refusal() const { return last_refusal_; }

  void wait(Clock::duration max_wait) const;
  void serve();

 private:
  void take_request(CmId id, const CmWord& said);
  io::Result<void> accept(CmId id, const CmWord& said);
  void take_offers();
  io::Result<void> accept(const PairOffer& offer);
  void make_room();
  void step(std::list<PendingRdma>::iterator pending);
  void drop_overdue();
  void refuse(std::list<PendingRdma>::iterator pending, const std::string& why);

  const RdmaCall& call_;
  ListeningIds& listening_;
  const bool only_one_;
  std::uint16_t last_number_ = 0;   // of the last proven connection
  std::list<PendingRdma> pending_;  // the oldest first
  RdmaConnections proven_;
  std::string last_refusal_;
};

void RdmaAcceptor::wait(Clock::duration max_wait) const {
  std::vector<pollfd> polls{{listening_.events_fd(), POLLIN, 0}, {listening_.interrupted(), POLLIN, 0}};
  if (call_.pairs != nullptr) polls.push_back({call_.pairs->fd(), POLLIN, 0});
  for (const PendingRdma& pending : pending_) pending.append_polls(polls);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(max_wait);
  ::poll(polls.data(), polls.size(), static_cast<int>(wait.count()));
}

// Takes at most kPendingMax new ones at a time, so that those already here are served in between.
void RdmaAcceptor::serve() {
  listening_.listen_again();
  for (auto next = pending_.begin(); next != pending_.end();) step(next++);
  drop_overdue();
  take_offers();
  for (std::size_t i = 0; i < RdmaListener::kPendingMax; ++i) {
    const auto event = listening_.next_event();
    if (!event) return;
    if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      take_request(CmId(event->id), decode_cm_word(event->said));
    } else {
      last_refusal_ = cause_of(cm_error(event->type, event->status, "listener"));
      if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) listening_.remove(event->id);
    }
  }
}

// If accept() fails, it destroys the id, which turns the request down.
void RdmaAcceptor::take_request(CmId id, const CmWord& said) {
  make_room();
  const std::string peer = peer_address_text(*id);
  if (auto accepted = accept(std::move(id), said); !accepted)
    last_refusal_ = peer + " " + accepted.error().message();
}

void RdmaAcceptor::make_room() {
  if (pending_.size() < RdmaListener::kPendingMax) return;
  refuse(pending_.begin(), "was closed for newer ones before it proved itself");
}

void RdmaAcceptor::take_offers() {
  if (call_.pairs == nullptr) return;
  call_.pairs->quiet();
  for (std::size_t i = 0; i < RdmaListener::kPendingMax; ++i) {
    const auto offer = call_.pairs->next_offer();
    if (!offer) return;
    make_room();
    const auto accepted = accept(*offer);
    if (accepted) continue;
    last_refusal_ = cause_of(accepted.error());
    call_.pairs->answer({.number = offer->number, .end = {}, .refusal = last_refusal_});
  }
}

io::Result<void> RdmaAcceptor::accept(const PairOffer& offer) {
  const RdmaPort* port = listening_.port_of(offer);
  if (port == nullptr || offer.stream >= call_.stream_count) {
    return io::plain_error(io::ErrorKind::protocol, "accept", "", "there is no such port or stream");
  }
  auto connection = RdmaConnection::create_by_hand(*port, call_, offer.stream, offer.end.routable);
  if (!connection) return connection.error();
  if (auto joined = (*connection)->join(offer.end, call_); !joined) return joined.error();
  call_.pairs->answer({.number = offer.number, .end = (*connection)->end(), .refusal = {}});
  pending_.emplace_back(std::move(*connection), call_.key, true, offer.number);
  return {};
}

io::Result<void> RdmaAcceptor::accept(CmId id, const CmWord& said) {
  auto channel = open_event_channel();
  if (!channel) return channel.error();
  const auto refused = [] { return io::errno_error("accept", "", errno, io::ErrorKind::connection); };
  // The connection gets a channel of its own, because the listener's closes before the stream begins, and
  // each stream polls its own.
  if (rdma_migrate_id(id.get(), channel->get()) != 0) return refused();
  const RdmaPort& port = listening_.port_of(*id);
  auto connection = RdmaConnection::create(std::move(*channel), std::move(id), port, call_, said.stream);
  if (!connection) return connection.error();
  const auto word = encode(CmWord{.takes_padding = true, .beats = port.link == LinkKind::iwarp});
  rdma_conn_param parameters = connection_parameters(word);
  if (rdma_accept(&(*connection)->id(), &parameters) != 0) return refused();
  (*connection)->set_peer_beats(said.beats);
  pending_.emplace_back(std::move(*connection), call_.key, said.takes_padding, 0);
  return {};
}

void RdmaAcceptor::step(std::list<PendingRdma>::iterator pending) {
  const auto proven = pending->step(call_.stream_count);
  if (!proven) {
    refuse(pending, cause_of(proven.error()));
  } else if (*proven) {
    last_number_ = pending->stream_index();
    proven_[only_one_ ? 0 : last_number_] = pending->take();
    pending_.erase(pending);
  }
}

void RdmaAcceptor::drop_overdue() {
  while (!pending_.empty() && pending_.front().deadline() <= Clock::now()) {
    refuse(pending_.begin(), "did not prove the key in time");
  }
}

void RdmaAcceptor::refuse(std::list<PendingRdma>::iterator pending, const std::string& why) {
  last_refusal_ = pending->peer() + " " + why;
  if (pending->offer() != 0) {
    call_.pairs->answer({.number = pending->offer(), .end = {}, .refusal = why});
  }
  pending_.erase(pending);
}

io::Error gave_up(const std::string& last_refusal) {
  std::string detail = "the other side did not connect in time";
  if (!last_refusal.empty()) detail += "; last refused: " + last_refusal;
  return io::plain_error(io::ErrorKind::connection, "accept", "RDMA connections", detail);
}

// Serves until all connections are there. Without `until` there is no deadline.
io::Result<void> receive_all(RdmaAcceptor& reception, const std::optional<Clock::time_point>& until,
                             const std::atomic<bool>& stop) {
  while (!reception.complete()) {
    if (stop.load()) {
      return io::plain_error(io::ErrorKind::interrupted, "accept", "RDMA connections", "stopped");
    }
    const auto now = Clock::now();
    if (until && now >= *until) return gave_up(reception.last_refusal());
    reception.wait(until ? std::min<Clock::duration>(kStopLook, *until - now) : Clock::duration(kStopLook));
    reception.serve();
  }
  return {};
}

}  // namespace

struct RdmaListener::Ids : ListeningIds {};

RdmaListener::RdmaListener(std::unique_ptr<Ids> ids) : ids_(std::move(ids)) {}
RdmaListener::RdmaListener(RdmaListener&&) noexcept = default;
RdmaListener& RdmaListener::operator=(RdmaListener&&) noexcept = default;
RdmaListener::~RdmaListener() = default;

io::Result<RdmaListener> RdmaListener::open(std::vector<RdmaPort>& ports, std::uint16_t at) {
  auto ids = std::make_unique<Ids>();
  if (auto opened = ids->open(ports, at, true); !opened) return opened.error();
  return RdmaListener(std::move(ids));
}

io::Result<RdmaListener> RdmaListener::open_within(std::vector<RdmaPort>& ports, const PortRange& numbers) {
  for (unsigned at = numbers.first;; ++at) {
    auto ids = std::make_unique<Ids>();
    auto opened = ids->open(ports, static_cast<std::uint16_t>(at), false);
    if (opened) return RdmaListener(std::move(ids));
    if (opened.error().code != EADDRINUSE || at >= numbers.last) return opened.error();
  }
}

io::Result<RdmaConnections> RdmaListener::accept_all(const RdmaCall& call) {
  auto connections = accept_first(call);
  ids_.reset();
  return connections;
}

io::Result<RdmaConnections> RdmaListener::accept_first(const RdmaCall& call) {
  RdmaAcceptor reception(call, *ids_, false);
  if (auto received = receive_all(reception, Clock::now() + call.deadline, call.stop); !received) {
    return received.error();
  }
  return reception.take();
}

io::Result<RdmaListener::Further> RdmaListener::accept_further(const RdmaCall& call) {
  RdmaAcceptor reception(call, *ids_, true);
  if (auto received = receive_all(reception, std::nullopt, call.stop); !received) return received.error();
  return Further{reception.last_number(), std::move(reception.take().front())};
}

void RdmaListener::interrupt() {
  ids_->interrupt();
}

}  // namespace rdcp::net
