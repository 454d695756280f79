#include "tree/streams/stream_setup.h"

#include "io/locked_memory.h"
#include "net/rails/rdma_facts.h"

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

}  // namespace

StreamSetup::~StreamSetup() {
  stop();
}

void StreamSetup::stop() {
  stop_knock_ = true;
  stop_tcp_ = true;
  stop_rdma_ = true;
  look_ = true;
  const std::lock_guard lock(listening_);
  if (!may_have_further_ || connects()) return;
  if (rdma_listener_) rdma_listener_->interrupt();
  if (tcp_listener_) tcp_listener_->interrupt();
  if (beside_) beside_->stop();
}

void StreamSetup::close() {
  const std::lock_guard lock(listening_);
  may_have_further_ = false;
  rdma_listener_.reset();
  tcp_listener_.reset();
  beside_.reset();
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
// of its own, except over iWARP.
void StreamSetup::listen_rdma(Reach& reach) {
  if (reach.rdma.usable.empty()) return;
  auto listener = place_.listener != nullptr
                      ? net::RdmaListener::open(reach.rdma.usable, place_.listener->port())
                      : net::RdmaListener::open_within(reach.rdma.usable, {wish_.port, last_port()});
  if (listener) {
    rdma_listener_.emplace(std::move(*listener));
  } else {
    reach.rdma = {.usable = {}, .none_because = listener.error().message()};
  }
}

Result<net::TcpListener> StreamSetup::listen_tcp(Reach& reach) {
  const std::string via = net::interface_of(wish_.via, reach.rdma);
  auto hosts = net::own_addresses(via);
  if (!hosts) return hosts.error();
  const std::string at = via.empty() ? std::string() : hosts->front();
  auto listener = place_.listener != nullptr ? Result<net::TcpListener>(std::move(*place_.listener))
                                             : net::TcpListener::open_within(at, {wish_.port, last_port()});
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
  knocking_.join();
  begin_ = begin;
  tcp_ = {.congestion = congestion,
          .traffic_class = place_.traffic_class ? place_.traffic_class : hints_.traffic_class};
  source_ = source;
  std::vector<StreamMaker> makers;
  if (wish_.connect == Connect::in_process) {
    for (std::uint16_t i = 0; i < begin.streams; ++i) {
      makers.push_back(maker_of(form(), place_.local->channel(i)));
    }
    return makers;
  }
  const bool through_ssh = goes_through_ssh(begin);
  const bool takes_rdma = !through_ssh && !begin.rails.empty() && rdma_listener_;
  if ((through_ssh || !connects()) && !tcp_listener_ && !takes_rdma) {
    return io::plain_error(ErrorKind::protocol, "take connections from",
                           through_ssh ? "ssh" : "the other side",
                           "this side was not asked to listen, or could not");
  }
  if (tcp_listener_) {
    if (auto marked = tcp_listener_->mark(tcp_.traffic_class); !marked) return marked.error();
  }
  auto made = through_ssh ? meet_through_ssh() : connects() ? connect() : accept();
  knocked_ = {};
  if (!made) return made.error();
  for (net::RdmaConnectionPtr& connection : made->rdma) {
    auto made_of = take(std::move(connection));
    if (!made_of) return made_of.error();
    makers.push_back(std::move(*made_of));
  }
  for (net::ProvenSocket& socket : made->tcp) {
    auto made_of = take(std::move(socket));
    if (!made_of) return made_of.error();
    makers.push_back(std::move(*made_of));
  }
  const std::lock_guard lock(listening_);
  over_rdma_ = !made->rdma.empty();
  may_have_further_ =
      through_ssh ? false
                  : connects() || (over_rdma_ ? rdma_listener_.has_value() : tcp_listener_.has_value());
  return makers;
}

net::RdmaCall StreamSetup::rdma_call(std::uint16_t streams, std::chrono::seconds deadline,
                                     const std::atomic<bool>& stop) {
  return {.key = {wish_.key, wish_.encrypt_rdma()},
          .stream_count = streams,
          .target_slots = begin_.target_slots,
          .source = source_,
          .deadline = deadline,
          .stop = stop,
          .round_trip = hints_.round_trip,
          .traffic_class = tcp_.traffic_class,
          .spreads_vectors = !placement_.leaves(),
          .pairs = pairs_ ? &*pairs_ : nullptr};
}

StreamForm StreamSetup::form() const {
  return {.source = source_,
          .shape = {.target_slots = begin_.target_slots, .slot_bytes = begin_.chunk_bytes},
          .compress = wish_.compress,
          .congestion = tcp_.choice()};
}

Result<StreamMaker> StreamSetup::take(net::ProvenSocket socket) const {
  return maker_of(form(), std::move(socket));
}

Result<StreamMaker> StreamSetup::take(net::RdmaConnectionPtr connection) {
  auto prepare = placement_.of_port(net::port_of(*connection), source_);
  return maker_of(form(), std::move(connection), std::move(prepare));
}

template <class Connection>
std::optional<FurtherStream> StreamSetup::further_of(std::size_t stream, Connection connection) {
  auto made = take(std::move(connection));
  if (!made) return std::nullopt;
  return FurtherStream{stream, std::move(*made)};
}

std::optional<FurtherStream> StreamSetup::next(std::size_t stream, StreamsLeft left) {
  if (!connects()) return over_rdma_ ? accept_either() : accept_further();
  const auto number = static_cast<std::uint16_t>(stream);
  return over_rdma_ ? connect_further(number, left) : connect_over_tcp(number);
}

// Where all that went over RDMA is lost, RDMA is tried first, and at once TCP if nothing was carried; then
// they take turns. A version that has stopped to listen for TCP refuses that.
std::optional<FurtherStream> StreamSetup::connect_further(std::uint16_t stream, StreamsLeft left) {
  const bool tcp_first = left == StreamsLeft::none_carried;
  const bool takes_tcp = left != StreamsLeft::some && !begin_.hosts.empty() &&
                         (tcp_first ? failed_ != Failed::tcp : failed_ == Failed::rdma);
  auto made = takes_tcp ? connect_over_tcp(stream) : connect_over_rdma(stream);
  failed_ = made ? Failed::neither : takes_tcp ? Failed::tcp : Failed::rdma;
  if (made && takes_tcp) {
    over_rdma_ = false;
    notes_.emplace_back(tcp_first ? "RDMA was given up for TCP: it carried nothing"
                                  : "RDMA was given up for TCP: no further stream could be made over it");
  }
  return made;
}

std::optional<FurtherStream> StreamSetup::connect_over_tcp(std::uint16_t stream) {
  auto socket = net::connect_further(net::addresses_at(begin_.hosts, begin_.port),
                                     {terms(), kFurtherDeadline, stop_tcp_, tcp_}, stream);
  if (!socket) return std::nullopt;
  return further_of(stream, std::move(*socket));
}

std::optional<FurtherStream> StreamSetup::connect_over_rdma(std::uint16_t stream) {
  auto connection =
      net::connect_further(rails_, rdma_call(kFurtherLimit, kFurtherDeadline, stop_rdma_), stream);
  if (!connection) return std::nullopt;
  return further_of(stream, std::move(*connection));
}

std::optional<FurtherStream> StreamSetup::accept_further() {
  auto further = tcp_listener_->accept_further(terms(), kFurtherLimit, stop_tcp_, tcp_);
  if (!further) return std::nullopt;
  return further_of(further->stream, std::move(further->socket));
}

// Without a thread for TCP only RDMA comes.
std::optional<FurtherStream> StreamSetup::accept_either() {
  if (beside_) (void)beside_->go_on(terms(), kFurtherLimit, tcp_, [this] { look_ = true; }).ok();
  for (;;) {
    look_ = false;
    if (stop_rdma_) return std::nullopt;
    auto socket = beside_ ? beside_->take() : std::nullopt;
    if (socket) return further_of(socket->stream, std::move(socket->socket));
    auto further = rdma_listener_->accept_further(rdma_call(kFurtherLimit, kFurtherDeadline, look_));
    if (further) return further_of(further->stream, std::move(further->connection));
    if (further.error().kind != ErrorKind::interrupted) return std::nullopt;
  }
}

void StreamSetup::knock(const Knock& at, std::function<void(const net::KnockOutcome&)> told) {
  stop_knock_ = true;
  knocking_.join();
  stop_knock_ = false;
  const auto addresses = net::addresses_at(at.hosts, at.port);
  const std::uint16_t own_port = tcp_listener_ ? tcp_listener_->port() : std::uint16_t{0};
  const std::size_t connections = std::clamp<std::size_t>(hints_.streams, 1, net::kConnectAtOnce);
  auto started = io::Thread::start("a thread that knocks", [this, addresses, connections, own_port, told] {
    knocked_ = net::knock(addresses, {kKnockMax, connections}, own_port, stop_knock_);
    if (!stop_knock_) told(knocked_);
  });
  if (started) {
    knocking_ = std::move(*started);
  } else {
    knocked_ = {.answered = {}, .none_because = started.error().message(), .open = {}};
    told(knocked_);
  }
}

net::HandshakeTerms StreamSetup::first_terms() const {
  net::HandshakeTerms first = terms();
  first.early = hints_.early;
  return first;
}

void StreamSetup::stop_listening() {
  const std::lock_guard lock(listening_);
  tcp_listener_.reset();
  rdma_listener_.reset();
}

// A bridge, or the coordinator itself, connects here, so what ssh brings seems to come from this host. Who
// has the key proves it all the same, each in the part that it would have without ssh.
Result<StreamSetup::Connections> StreamSetup::meet_through_ssh() {
  net::HandshakeTerms with_patience = terms();
  with_patience.time_limit = kSshDeadline;
  Connections made;
  auto sockets =
      connects()
          ? net::connect_through(*tcp_listener_, {with_patience, kSshDeadline, stop_tcp_, tcp_},
                                 begin_.streams, kConnectDeadline)
          : tcp_listener_->accept_first({with_patience, kSshDeadline, stop_tcp_, tcp_}, begin_.streams);
  stop_listening();
  if (!sockets) return sockets.error();
  made.tcp = std::move(*sockets);
  return made;
}

Result<StreamSetup::Connections> StreamSetup::connect() {
  if (wish_.either_way) stop_listening();
  Connections made;
  if (!begin_.rails.empty()) {
    auto over_rdma =
        net::connect_rails(begin_.rails, rdma_call(begin_.streams, kConnectDeadline, stop_rdma_));
    if (over_rdma) {
      for (const std::string& lost : over_rdma->lost_rails) notes_.push_back("left out: " + lost);
      made.rdma = std::move(over_rdma->connections);
      rails_ = std::move(over_rdma->rails);
      return made;
    }
    if (begin_.hosts.empty() || stop_rdma_) return over_rdma.error();
    notes_.push_back("RDMA was given up for TCP: " + over_rdma.error().message());
  }
  auto over_tcp = net::connect_all(net::addresses_at(begin_.hosts, begin_.port),
                                   {first_terms(), kConnectDeadline, stop_tcp_, tcp_}, begin_.streams,
                                   std::move(knocked_.open));
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
    auto sockets = tcp_listener_->accept_first(
        {first_terms(), kConnectDeadline, stop_tcp_, tcp_}, begin_.streams,
        [this](std::uint16_t stream) { return (lost_.load() & bit_of(stream)) != 0; });
    if (!sockets) return sockets.error();
    made.tcp = std::move(*sockets);
    return made;
  }
  const std::chrono::seconds deadline = kConnectDeadline + kFallBackGrace;
  if (tcp_listener_ && !begin_.hosts.empty()) beside_.emplace(std::move(*tcp_listener_));
  tcp_listener_.reset();
  if (beside_) {
    auto begun =
        beside_->begin({terms(), deadline, stop_tcp_, tcp_}, begin_.streams, [this] { stop_rdma_ = true; });
    if (!begun) return begun.error();
  }
  auto connections = rdma_listener_->accept_first(rdma_call(begin_.streams, deadline, stop_rdma_));
  if (connections) {
    stop_tcp_ = true;
    made.rdma = std::move(*connections);
    return made;
  }
  rdma_listener_.reset();
  auto over_tcp = beside_ ? beside_->first() : std::nullopt;
  if (!over_tcp) return connections.error();
  made.tcp = std::move(*over_tcp);
  tcp_listener_.emplace(beside_->release());
  beside_.reset();
  return made;
}

}  // namespace rdcp::tree
