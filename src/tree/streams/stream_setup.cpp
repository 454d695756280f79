#include "tree/streams/stream_setup.h"

#include <algorithm>

#include "io/locked_memory.h"
#include "net/rdma/rdma.h"
#include "net/stream/record_layer.h"
#include "net/tcp/tcp.h"

namespace rdcp::tree {

using io::Error;
using io::ErrorKind;
using io::Result;

namespace {

constexpr std::chrono::seconds kConnectDeadline{20};
// The side that listens waits longer by this, because the other side may have tried in vain before.
constexpr std::chrono::seconds kFallBackGrace{20};

// The deadline of one try at a further stream.
constexpr std::chrono::seconds kFurtherDeadline{5};
// How long it may take until ssh has connected once more, for each stream.
constexpr std::chrono::seconds kSshDeadline{60};
constexpr std::uint16_t kFurtherLimit = kStreamNumbersMax;

std::vector<net::Address> addresses_of(const Begin& begin) {
  std::vector<net::Address> addresses;
  for (const std::string& host : begin.hosts) addresses.push_back({host, begin.port});
  return addresses;
}

// Returns the network interface to bind to for TCP. An RDMA device stands for the interface that it is on.
std::string interface_of(const std::string& via, const net::RdmaPorts& rdma) {
  const auto port = std::ranges::find(rdma.usable, via, &net::RdmaPort::device);
  return port == rdma.usable.end() ? via : port->interface;
}

// A connection and its RecordLayer, kept until a worker takes both over.
template <class Connection>
struct Held {
  Connection connection;
  net::RecordLayer record_layer;
};

StreamMaker maker(bool source, io::Fd socket, net::RecordLayer record_layer, const net::StreamShape& shape) {
  auto held = std::make_shared<Held<io::Fd>>(Held<io::Fd>{std::move(socket), std::move(record_layer)});
  return [=](io::Ring& ring, io::Arena& arena) {
    return source
               ? net::make_tcp_source(ring, std::move(held->connection), shape, std::move(held->record_layer))
               : net::make_tcp_target(ring, std::move(held->connection), shape, arena,
                                      std::move(held->record_layer));
  };
}

StreamMaker maker(bool source, net::RdmaConnectionPtr connection, net::RecordLayer record_layer,
                  const net::StreamShape& shape) {
  using HeldQueue = Held<net::RdmaConnectionPtr>;
  auto held = std::make_shared<HeldQueue>(HeldQueue{std::move(connection), std::move(record_layer)});
  return [=](io::Ring& ring, io::Arena& arena) {
    return source ? net::make_rdma_source(ring, std::move(held->connection), shape, arena,
                                          std::move(held->record_layer))
                  : net::make_rdma_target(ring, std::move(held->connection), shape, arena,
                                          std::move(held->record_layer));
  };
}

StreamMaker maker(bool source, std::shared_ptr<net::MemoryChannel> channel, const net::StreamShape& shape) {
  return [=](io::Ring& ring, io::Arena& arena) {
    return source ? net::make_memory_source(ring, channel, shape)
                  : net::make_memory_target(ring, channel, shape, arena);
  };
}

}  // namespace

StreamSetup::~StreamSetup() {
  stop();
  if (beside_.joinable()) beside_.join();
}

void StreamSetup::stop() {
  stop_knock_ = true;
  stop_tcp_ = true;
  stop_rdma_ = true;
  const std::lock_guard lock(listening_);
  if (!may_have_further_ || connects()) return;
  if (over_rdma_) {
    rdma_listener_->interrupt();
  } else {
    tcp_listener_->interrupt();
  }
}

void StreamSetup::close() {
  const std::lock_guard lock(listening_);
  may_have_further_ = false;
  rdma_listener_.reset();
  // If a thread is still accepting beside, it drops the listener itself.
  if (!beside_.joinable()) tcp_listener_.reset();
}

Result<Reach> StreamSetup::open(const StreamWish& wish) {
  wish_ = wish;
  if (place_.key) wish_.key = *place_.key;
  Reach reach;
  if (wish.connect == Connect::in_process) return reach;
  reach.lockable_bytes = io::lockable_bytes();
  reach.listens = wish.connect == Connect::listen;
  if (wish.transport != Transport::tcp) reach.rdma = net::own_rdma_ports();
  if (!reach.listens && !wish.either_way) return reach;
  if (reach.listens) listen_rdma(reach);
  if (wish.transport == Transport::rdma) return reach;
  auto tcp = listen_tcp(reach);
  if (tcp) {
    tcp_listener_.emplace(std::move(*tcp));
  } else if (rdma_listener_ || wish.either_way) {
    reach.hosts.clear();  // the device that was named may be the other side's
    reach.no_tcp_because = tcp.error().message();
  } else {
    return tcp.error();
  }
  return reach;
}

// Listens on the port number of the given listener, if there is one, else on the job's. RDMA has port numbers
// of its own.
void StreamSetup::listen_rdma(Reach& reach) {
  if (reach.rdma.usable.empty()) return;
  auto listener = place_.listener != nullptr
                      ? net::RdmaListener::open(reach.rdma.usable, place_.listener->port())
                      : net::RdmaListener::open_within(reach.rdma.usable, ports());
  if (listener) {
    rdma_listener_.emplace(std::move(*listener));
  } else {
    reach.rdma = {.usable = {}, .none_because = listener.error().message()};
  }
}

Result<net::TcpListener> StreamSetup::listen_tcp(Reach& reach) {
  const std::string via = interface_of(wish_.via, reach.rdma);
  auto hosts = net::own_addresses(via);
  if (!hosts) return hosts.error();
  const std::string at = via.empty() ? std::string() : hosts->front();
  auto listener = place_.listener != nullptr ? Result<net::TcpListener>(std::move(*place_.listener))
                                             : net::TcpListener::open_within(at, ports());
  if (!listener) return listener.error();
  // At one address alone, another job may have the same port at another address.
  if (wish_.either_way && via.empty()) listener->open_beside();
  reach.hosts = std::move(*hosts);
  reach.port = listener->port();
  return listener;
}

Result<std::vector<StreamMaker>> StreamSetup::make(const Begin& begin, bool source,
                                                   const std::string& congestion) {
  stop_knock_ = true;
  begin_ = begin;
  tcp_ = {.congestion = congestion};
  source_ = source;
  std::vector<StreamMaker> makers;
  if (wish_.connect == Connect::in_process) {
    for (std::uint16_t i = 0; i < begin.streams; ++i) {
      makers.push_back(maker(source, place_.local->channel(i), shape()));
    }
    return makers;
  }
  auto made = goes_through_ssh(begin) ? meet_through_ssh() : connects() ? connect() : accept();
  if (!made) return made.error();
  for (net::RdmaConnectionPtr& connection : made->rdma) {
    auto made_of = maker_of(std::move(connection));
    if (!made_of) return made_of.error();
    makers.push_back(std::move(*made_of));
  }
  for (net::ProvenSocket& socket : made->tcp) {
    auto made_of = maker_of(std::move(socket));
    if (!made_of) return made_of.error();
    makers.push_back(std::move(*made_of));
  }
  const std::lock_guard lock(listening_);
  over_rdma_ = !made->rdma.empty();
  may_have_further_ = goes_through_ssh(begin) ? false
                                              : connects() || (over_rdma_ ? rdma_listener_.has_value()
                                                                          : tcp_listener_.has_value());
  return makers;
}

// A network of RDMA devices is the user's own, and sealing would take from it what it is there for.
net::HandshakeTerms StreamSetup::rdma_terms() const {
  const bool unasked = wish_.encrypt == net::Sealing::rather;
  return {wish_.key, unasked ? net::Sealing::if_wanted : wish_.encrypt};
}

net::RdmaCall StreamSetup::rdma_call(std::uint16_t streams, std::chrono::seconds deadline) const {
  return {.key = rdma_terms(),
          .stream_count = streams,
          .target_slots = begin_.target_slots,
          .source = source_,
          .deadline = deadline,
          .stop = stop_rdma_};
}

Result<StreamMaker> StreamSetup::maker_of(net::ProvenSocket socket) const {
  auto record_layer = net::RecordLayer::create(socket.seal, wish_.compress, source_);
  if (!record_layer) return record_layer.error();
  return maker(source_, std::move(socket.fd), std::move(*record_layer), shape());
}

Result<StreamMaker> StreamSetup::maker_of(net::RdmaConnectionPtr connection) const {
  auto record_layer = net::RecordLayer::create(net::seal_of(*connection), wish_.compress, source_);
  if (!record_layer) return record_layer.error();
  return maker(source_, std::move(connection), std::move(*record_layer), shape());
}

std::optional<FurtherStream> StreamSetup::next(std::size_t stream) {
  const auto number = static_cast<std::uint16_t>(stream);
  return over_rdma_ ? next_over_rdma(number) : next_over_tcp(number);
}

std::optional<FurtherStream> StreamSetup::next_over_tcp(std::uint16_t stream) {
  net::TcpListener::Further got{stream, {}};
  if (connects()) {
    auto socket =
        net::connect_further(addresses_of(begin_), {terms(), kFurtherDeadline, stop_tcp_, tcp_}, stream);
    if (!socket) return std::nullopt;
    got.socket = std::move(*socket);
  } else {
    auto further = tcp_listener_->accept_further(terms(), kFurtherLimit, stop_tcp_, tcp_);
    if (!further) return std::nullopt;
    got = std::move(*further);
  }
  auto made = maker_of(std::move(got.socket));
  if (!made) return std::nullopt;
  return FurtherStream{got.stream, std::move(*made)};
}

std::optional<FurtherStream> StreamSetup::next_over_rdma(std::uint16_t stream) {
  const net::RdmaCall call = rdma_call(kFurtherLimit, kFurtherDeadline);
  net::RdmaListener::Further got{stream, nullptr};
  if (connects()) {
    auto connection = net::connect_further(begin_.rails, call, stream);
    if (!connection) return std::nullopt;
    got.connection = std::move(*connection);
  } else {
    auto further = rdma_listener_->accept_further(call);
    if (!further) return std::nullopt;
    got = std::move(*further);
  }
  auto made = maker_of(std::move(got.connection));
  if (!made) return std::nullopt;
  return FurtherStream{got.stream, std::move(*made)};
}

void StreamSetup::knock(const Knock& at, std::function<void(net::KnockOutcome)> told) {
  stop_knock_ = true;
  knocking_.join();
  stop_knock_ = false;
  std::vector<net::Address> addresses;
  for (const std::string& host : at.hosts) addresses.push_back({host, at.port});
  const std::uint16_t own_port = tcp_listener_ ? tcp_listener_->port() : std::uint16_t{0};
  auto started = io::Thread::start("a thread that knocks", [this, addresses, own_port, told] {
    net::KnockOutcome outcome = net::knock(addresses, kKnockMax, own_port, stop_knock_);
    if (!stop_knock_) told(std::move(outcome));
  });
  if (started) {
    knocking_ = std::move(*started);
  } else {
    told({.answered = {}, .none_because = started.error().message()});
  }
}

void StreamSetup::stop_listening() {
  const std::lock_guard lock(listening_);
  tcp_listener_.reset();
  rdma_listener_.reset();
}

// A bridge, or the coordinator itself, connects here, so what ssh brings seems to come from this host. Who
// has the key proves it all the same, each in the part that it would have without ssh.
Result<StreamSetup::Connections> StreamSetup::meet_through_ssh() {
  if (!tcp_listener_) {
    return io::plain_error(ErrorKind::connection, "take connections from", "ssh", "there is no listener");
  }
  net::HandshakeTerms with_patience = terms();
  with_patience.time_limit = kSshDeadline;
  Connections made;
  auto sockets =
      connects() ? net::connect_through(*tcp_listener_, {with_patience, kSshDeadline, stop_tcp_, tcp_},
                                        begin_.streams)
                 : tcp_listener_->accept_first(with_patience, begin_.streams, kSshDeadline, stop_tcp_, tcp_);
  stop_listening();
  if (!sockets) return sockets.error();
  made.tcp = std::move(*sockets);
  return made;
}

Result<StreamSetup::Connections> StreamSetup::connect() {
  if (wish_.either_way) stop_listening();
  Connections made;
  if (!begin_.rails.empty()) {
    auto over_rdma = net::connect_rails(begin_.rails, rdma_call(begin_.streams, kConnectDeadline));
    if (over_rdma) {
      for (const std::string& lost : over_rdma->lost_rails) notes_.push_back("left out: " + lost);
      made.rdma = std::move(over_rdma->connections);
      return made;
    }
    if (begin_.hosts.empty() || stop_rdma_) return over_rdma.error();
    notes_.push_back("RDMA was given up for TCP: " + over_rdma.error().message());
  }
  auto over_tcp =
      net::connect_all(addresses_of(begin_), {terms(), kConnectDeadline, stop_tcp_, tcp_}, begin_.streams);
  if (!over_tcp) return over_tcp.error();
  made.tcp = std::move(*over_tcp);
  return made;
}

// The side that connects chooses the transport, so this listens for both if both may come.
Result<StreamSetup::Connections> StreamSetup::accept() {
  Connections made;
  const bool over_rdma = !begin_.rails.empty() && rdma_listener_;
  if (!over_rdma) {
    rdma_listener_.reset();
    auto sockets = tcp_listener_->accept_first(terms(), begin_.streams, kConnectDeadline, stop_tcp_, tcp_);
    if (!sockets) return sockets.error();
    made.tcp = std::move(*sockets);
    return made;
  }
  const std::chrono::seconds deadline = kConnectDeadline + kFallBackGrace;
  if (begin_.hosts.empty()) tcp_listener_.reset();
  if (tcp_listener_) {
    if (auto begun = accept_tcp_beside(deadline); !begun) return begun.error();
  }
  auto connections = rdma_listener_->accept_first(rdma_call(begin_.streams, deadline));
  if (connections) {
    stop_tcp_ = true;
    made.rdma = std::move(*connections);
    return made;
  }
  rdma_listener_.reset();
  if (beside_.joinable()) beside_.join();
  if (!over_tcp_) return connections.error();
  made.tcp = std::move(*over_tcp_);
  return made;
}

Result<void> StreamSetup::accept_tcp_beside(std::chrono::seconds deadline) {
  auto thread = io::Thread::start("a thread for TCP", [this, deadline] {
    auto sockets = tcp_listener_->accept_first(terms(), begin_.streams, deadline, stop_tcp_, tcp_);
    if (!sockets) return tcp_listener_.reset();
    over_tcp_ = std::move(*sockets);
    stop_rdma_ = true;
  });
  if (!thread) return thread.error();
  beside_ = std::move(*thread);
  return {};
}

}  // namespace rdcp::tree
