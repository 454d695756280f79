#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <list>
#include <optional>
#include <set>
#include <string>

#include "io/ring.h"
#include "net/sockets/sockets.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::net {
namespace {

using io::Clock;

constexpr int kBacklog = 128;

io::Error listen_error(const std::string& subject, int code = errno) {
  return io::errno_error("listen on", subject, code, io::ErrorKind::connection);
}

io::Result<io::Fd> bind_and_listen(const Address& at) {
  const auto address = to_socket_address(at);
  if (!address) return address.error();
  auto socket = open_tcp_socket(address->storage.ss_family);
  if (!socket) return socket.error();
  if (address->storage.ss_family == AF_INET6) {
    const int off = 0;  // IPv4 is accepted as well, whatever net.ipv6.bindv6only says
    if (::setsockopt(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) {
      return listen_error(at.text());
    }
  }
  if (at.port != 0) {  // an earlier run may just have used the port; bind(2) tells if it is taken
    const int on = 1;
    (void)::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  }
  if (::bind(socket->get(), address->get(), address->length) != 0) return listen_error(at.text());
  if (::listen(socket->get(), kBacklog) != 0) return listen_error(at.text());
  return socket;
}

// A connection whose peer has not yet proven itself.
class Pending {
 public:
  Pending(io::Fd socket, const HandshakeTerms& terms)
      : terms_(terms_for(socket.get(), terms)),
        socket_(std::move(socket)),
        peer_(peer_name(socket_.get())),
        deadline_(Clock::now() + terms_.time_limit),
        listener_(terms_) {}

  int socket() const { return socket_.get(); }
  Clock::time_point deadline() const { return deadline_; }
  std::uint16_t stream_index() const { return early_ ? early_->stream_index : listener_.stream_index(); }
  bool came_early() const { return early_.has_value(); }
  // Answers one that came early.
  io::Result<void> welcome() const { return send_whole(socket_.get(), early_->welcome); }
  ProvenSocket take_socket() { return {std::move(socket_), seal_}; }
  const std::string& peer() const { return peer_; }

  // Goes as far as the bytes that have arrived allow. Returns true if the peer is proven. After an error the
  // connection must be closed.
  io::Result<bool> step(std::uint16_t stream_count);

 private:
  io::Result<void> answer_hello(std::uint16_t stream_count);
  io::Result<bool> step_early(std::uint16_t stream_count);

  const HandshakeTerms terms_;
  io::Fd socket_;
  std::string peer_;  // read at once, because a socket that was reset has none
  Clock::time_point deadline_;
  Listener listener_;
  std::optional<SealKeys> seal_;
  std::optional<EarlyProof> early_;
  bool challenged_ = false;
  std::array<std::byte, std::max(kEarlyHelloBytes, kProofBytes)> message_;
  static_assert(kHelloBytes <= kEarlyHelloBytes);
  std::size_t have_ = 0;
};

io::Result<bool> Pending::step(std::uint16_t stream_count) {
  if (!challenged_) {
    if (have_ < kHelloBytes) {
      const auto whole = receive_rest(socket_.get(), std::span(message_).first<kHelloBytes>(), have_);
      if (!whole || !*whole) return whole;
    }
    if (terms_.early && begins_early(message_)) return step_early(stream_count);
    if (auto answered = answer_hello(stream_count); !answered) return answered.error();
  }
  // Reads not a byte more than the proof, because what follows it belongs to the stream.
  const auto proof = std::span(message_).first<kProofBytes>();
  const auto whole = receive_rest(socket_.get(), proof, have_);
  // A peer that sees by our MAC that its key is a different one closes the connection.
  if (!whole && !listener_.disagreement().empty()) {
    return io::plain_error(io::ErrorKind::connection, "handshake with", "peer", listener_.disagreement());
  }
  if (!whole && whole.error().code == 0) {
    return io::plain_error(io::ErrorKind::connection, "handshake with", "peer",
                           "closed the connection instead of proving a key: it may hold another one");
  }
  if (!whole || !*whole) return whole;
  if (auto proven = listener_.check(proof); !proven) return proven.error();
  const auto seal = listener_.seal_keys();
  if (!seal) return seal.error();
  seal_ = *seal;
  return true;
}

// As with a proof, reads not a byte more.
io::Result<bool> Pending::step_early(std::uint16_t stream_count) {
  const auto hello = std::span(message_).first<kEarlyHelloBytes>();
  const auto whole = receive_rest(socket_.get(), hello, have_);
  if (!whole || !*whole) return whole;
  auto proof = check_early(terms_.key, *terms_.early, hello, stream_count);
  if (!proof) return proof.error();
  early_ = *proof;
  seal_ = proof->seal;
  return true;
}

io::Result<void> Pending::answer_hello(std::uint16_t stream_count) {
  const auto hello = std::span(message_).first<kHelloBytes>();
  const auto challenge = listener_.challenge(hello, stream_count);
  // The user of the other side should hear of it, too.
  if (!challenge && other_version(hello)) (void)send_whole(socket_.get(), version_refusal()).ok();
  if (!challenge) return challenge.error();
  challenged_ = true;
  have_ = 0;
  return send_whole(socket_.get(), *challenge);
}

// The unproven and the proven connections of one accept_all().
class Acceptor {
 public:
  Acceptor(const HandshakeTerms& terms, std::uint16_t stream_count, const TcpOptions& options,
           TcpListener::OnRefusal on_refusal)
      : terms_(terms), options_(options), on_refusal_(std::move(on_refusal)), proven_(stream_count) {}
  // given_up: as accept_first() takes it.
  Acceptor(const TcpCall& call, std::uint16_t stream_count,
           const std::function<bool(std::uint16_t)>& given_up)
      : terms_(call.terms), options_(call.options), given_up_(given_up), proven_(stream_count) {}
  // Accepts one connection, with any number below limit.
  Acceptor(const HandshakeTerms& terms, std::uint16_t limit, const TcpOptions& options)
      : terms_(terms), options_(options), limit_(limit), proven_(1) {}

  bool complete() const {
    for (std::uint16_t i = 0; i < proven_.size(); ++i) {
      if (!proven_[i] && !(given_up_ && given_up_(i))) return false;
    }
    return true;
  }
  Sockets take() { return std::move(proven_); }
  std::uint16_t last_number() const { return last_number_; }
  const std::string& last_refusal() const { return last_refusal_; }

  // Waits for the listener or a pending connection, and lets those go on that can. Returns true if a new
  // connection is waiting.
  bool serve(const TcpListener& listener, Clock::duration max_wait);
  void drop_overdue();
  io::Result<void> accept_new(const TcpListener& listener);

 private:
  void step(std::list<Pending>::iterator pending);
  void refuse(std::list<Pending>::iterator pending, const std::string& why);

  const HandshakeTerms& terms_;
  const TcpOptions& options_;
  const TcpListener::OnRefusal on_refusal_;            // may be empty
  const std::function<bool(std::uint16_t)> given_up_;  // may be empty
  std::set<std::uint16_t> came_early_;                 // the numbers of streams for which an early hello came
  const std::uint16_t limit_ = 0;                      // of stream numbers; 0 if proven_'s size is the limit
  std::uint16_t last_number_ = 0;                      // of the last proven connection
  std::list<Pending> pending_;                         // the oldest first
  Sockets proven_;
  std::string last_refusal_;
};

bool Acceptor::serve(const TcpListener& listener, Clock::duration max_wait) {
  std::array<pollfd, TcpListener::kPendingMax + TcpListener::kDoors> polls;
  std::size_t count = 0;
  for (const int door : listener.doors()) polls[count++] = {door, POLLIN, 0};
  for (const Pending& pending : pending_) polls[count++] = {pending.socket(), POLLIN, 0};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(max_wait);
  if (::poll(polls.data(), count, static_cast<int>(wait.count())) <= 0) return false;
  auto pending = pending_.begin();
  for (std::size_t i = TcpListener::kDoors; i < count; ++i) {
    const auto current = pending++;
    if (polls[i].revents != 0) step(current);
  }
  return std::any_of(polls.begin(), polls.begin() + TcpListener::kDoors,
                     [](const pollfd& door) { return door.revents != 0; });
}

void Acceptor::step(std::list<Pending>::iterator pending) {
  const auto proven = pending->step(limit_ != 0 ? limit_ : static_cast<std::uint16_t>(proven_.size()));
  if (!proven) return refuse(pending, cause_of(proven.error()));
  if (!*proven) return;
  if (pending->came_early()) {
    if (!came_early_.insert(pending->stream_index()).second)
      return refuse(pending, "repeats a proof that was taken already");
    if (auto sent = pending->welcome(); !sent) return refuse(pending, cause_of(sent.error()));
  }
  last_number_ = pending->stream_index();
  proven_[limit_ != 0 ? 0 : last_number_] = pending->take_socket();
  pending_.erase(pending);
}

void Acceptor::refuse(std::list<Pending>::iterator pending, const std::string& why) {
  const std::string who = pending->peer();
  last_refusal_ = who + " " + why;
  if (on_refusal_) on_refusal_(who + ": " + why);
  pending_.erase(pending);
}

void Acceptor::drop_overdue() {
  while (!pending_.empty() && pending_.front().deadline() <= Clock::now()) {
    refuse(pending_.begin(), "did not prove the key in time");
  }
}

// Accepts no more than there is room for, or one. Those that are here are served in between, so that
// connections that were closed while they waited, as a knock's are, push out none that is alive.
io::Result<void> Acceptor::accept_new(const TcpListener& listener) {
  const std::size_t room = TcpListener::kPendingMax - pending_.size();
  for (std::size_t i = 0; i < std::max<std::size_t>(room, 1); ++i) {
    io::Fd socket = listener.accept();
    if (!socket) {
      const bool out_of_descriptors = errno == EMFILE || errno == ENFILE;
      if (out_of_descriptors && pending_.empty()) return listen_error("TCP port");
      if (out_of_descriptors) refuse(pending_.begin(), "was one connection more than agreed");
      // All other errors are about the connection that was to be accepted (accept(2)), or there is none.
      return {};
    }
    if (pending_.size() == TcpListener::kPendingMax) {
      refuse(pending_.begin(), "was closed for newer ones before it proved itself");
    }
    if (auto set = set_stream_options(socket.get(), options_.congestion, options_.traffic_class); !set)
      return set;
    pending_.emplace_back(std::move(socket), terms_);
  }
  return {};
}

io::Error gave_up(std::uint16_t port, const std::string& last_refusal) {
  std::string detail = "the other side did not connect in time";
  if (!last_refusal.empty()) detail += "; last refused: " + last_refusal;
  return io::plain_error(io::ErrorKind::connection, "accept on port", std::to_string(port), detail);
}

// Serves until all connections are there. Without `until` there is no deadline.
io::Result<Sockets> receive_all(const TcpListener& listener, Acceptor& reception,
                                const std::optional<Clock::time_point>& until,
                                const std::atomic<bool>& stop) {
  const std::uint16_t port = listener.port();
  while (!reception.complete()) {
    if (stop.load()) {
      return io::plain_error(io::ErrorKind::interrupted, "accept on port", std::to_string(port), "stopped");
    }
    const auto now = Clock::now();
    if (until && now >= *until) return gave_up(port, reception.last_refusal());
    const auto wait = until ? std::min<Clock::duration>(kStopLook, *until - now) : Clock::duration(kStopLook);
    const bool knock = reception.serve(listener, wait);
    reception.drop_overdue();
    if (!knock) continue;
    if (auto accepted = reception.accept_new(listener); !accepted) return accepted.error();
  }
  return reception.take();
}

}  // namespace

io::Result<TcpListener> TcpListener::open(const std::string& bind_address, std::uint16_t port) {
  auto socket = bind_and_listen({bind_address.empty() ? "::" : bind_address, port});
  const bool without_ipv6 = !socket && bind_address.empty() && socket.error().code != EADDRINUSE;
  if (without_ipv6) socket = bind_and_listen({"0.0.0.0", port});
  if (!socket) return socket.error();
  const std::uint16_t bound = local_address(socket->get()).port;
  return TcpListener(std::move(*socket), bound);
}

io::Result<TcpListener> TcpListener::open_within(const std::string& bind_address, const PortRange& ports) {
  for (unsigned port = ports.first; port < ports.last; ++port) {
    auto listener = open(bind_address, static_cast<std::uint16_t>(port));
    if (listener || listener.error().code != EADDRINUSE) return listener;
  }
  return open(bind_address, ports.last);
}

io::Result<Sockets> TcpListener::accept_all(const HandshakeTerms& terms, std::uint16_t stream_count,
                                            std::chrono::milliseconds deadline, const std::atomic<bool>& stop,
                                            const TcpOptions& options) {
  auto sockets = accept_first({terms, deadline, stop, options}, stream_count);
  fd_.reset();
  beside_.reset();
  return sockets;
}

io::Result<Sockets> TcpListener::accept_first(const TcpCall& call, std::uint16_t stream_count,
                                              const std::function<bool(std::uint16_t)>& given_up) {
  Acceptor reception(call, stream_count, given_up);
  return receive_all(*this, reception, Clock::now() + call.deadline, call.stop);
}

io::Result<TcpListener::Further> TcpListener::accept_further(const HandshakeTerms& terms, std::uint16_t limit,
                                                             const std::atomic<bool>& stop,
                                                             const TcpOptions& options) {
  Acceptor reception(terms, limit, options);
  auto sockets = receive_all(*this, reception, std::nullopt, stop);
  if (!sockets) return sockets.error();
  return Further{reception.last_number(), std::move(sockets->front())};
}

void TcpListener::open_beside() {
  auto beside = UserSocket::open_beside(port_);
  if (beside) beside_.emplace(std::move(*beside));
}

io::Fd TcpListener::accept() const {
  io::Fd socket = beside_ ? beside_->accept(SOCK_NONBLOCK) : io::Fd();
  if (!socket) socket.reset(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return socket;
}

// poll(2) reports a listening socket that is shut down (POLLHUP).
void TcpListener::interrupt() {
  ::shutdown(fd_.get(), SHUT_RDWR);
}

io::Result<ProvenSocket> TcpListener::accept_one(const HandshakeTerms& terms, const std::atomic<bool>& stop,
                                                 const TcpOptions& options, OnRefusal on_refusal) {
  Acceptor reception(terms, 1, options, std::move(on_refusal));
  auto sockets = receive_all(*this, reception, std::nullopt, stop);
  if (!sockets) return sockets.error();
  return std::move(sockets->front());
}

}  // namespace rdcp::net
