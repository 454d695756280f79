#include "net/tcp/tcp_connect.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "io/ring.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using io::Clock;

constexpr std::chrono::milliseconds kNextAddress{
    500};  // how long an address is waited for before the next is tried
constexpr std::size_t kAttemptsAtOnce = TcpListener::kPendingMax / 2;

// The terms that all connections of one connect_all() share.
struct Call {
  const HandshakeTerms& terms;
  Clock::time_point until;
  const std::atomic<bool>& stop;
  const TcpOptions& options;
};

// One attempt at a proven connection.
class ConnectAttempt {
 public:
  ConnectAttempt(const Call& call, const Address& address, std::uint16_t stream_index);
  // Over a connection that is there already.
  ConnectAttempt(const Call& call, io::Fd socket, std::uint16_t stream_index);

  const Address& address() const { return address_; }
  std::uint16_t stream_index() const { return stream_index_; }
  bool proven() const { return state_ == State::proven; }
  bool was_challenged() const { return was_challenged_; }
  bool of_another_version() const { return of_another_version_; }
  // Says why it failed; empty as long as it has not.
  const std::string& cause() const { return cause_; }
  bool under_way() const { return !proven() && cause_.empty(); }
  ProvenSocket take_socket() { return {std::move(socket_), seal_}; }

  pollfd poll() const {
    return {under_way() ? socket_.get() : -1,
            static_cast<short>(state_ == State::connecting ? POLLOUT : POLLIN), 0};
  }
  // Goes on as far as it can, once the socket is ready.
  void step();
  void fail_if_overdue(Clock::time_point now);

 private:
  enum class State : unsigned char { connecting, challenged, proven };

  void connect(const TcpOptions& options);
  void finish_connecting();
  void say_hello();
  void take_challenge();
  void fail(const io::Error& error);

  Address address_;
  std::uint16_t stream_index_;
  Clock::time_point deadline_;
  const HandshakeTerms* terms_;
  std::optional<Connector> connector_;  // once it is connected
  State state_ = State::connecting;
  std::string cause_;
  io::Fd socket_;
  std::optional<SealKeys> seal_;
  std::array<std::byte, kChallengeBytes> challenge_;
  std::size_t have_ = 0;
  bool was_challenged_ = false;
  bool of_another_version_ = false;
};

ConnectAttempt::ConnectAttempt(const Call& call, const Address& address, std::uint16_t stream_index)
    : address_(address),
      stream_index_(stream_index),
      deadline_(Clock::now() + call.terms.time_limit),
      terms_(&call.terms) {
  connect(call.options);
}

ConnectAttempt::ConnectAttempt(const Call& call, io::Fd socket, std::uint16_t stream_index)
    : address_(peer_address(socket.get())),
      stream_index_(stream_index),
      deadline_(Clock::now() + call.terms.time_limit),
      terms_(&call.terms),
      socket_(std::move(socket)) {
  if (auto set = set_stream_options(socket_.get(), call.options.congestion); !set) {
    fail(set.error());
  } else {
    say_hello();
  }
}

void ConnectAttempt::connect(const TcpOptions& options) {
  const auto to = to_socket_address(address_);
  if (!to) return fail(to.error());
  auto socket = open_tcp_socket(to->storage.ss_family);
  if (!socket) return fail(socket.error());
  socket_ = std::move(*socket);
  if (auto set = set_stream_options(socket_.get(), options.congestion); !set) return fail(set.error());
  if (::connect(socket_.get(), to->get(), to->length) != 0 && errno != EINPROGRESS) {
    fail(io::errno_error("", ""));
  }
}

void ConnectAttempt::step() {
  if (state_ == State::connecting) {
    finish_connecting();
  } else {
    take_challenge();
  }
}

void ConnectAttempt::finish_connecting() {
  int code = 0;
  socklen_t bytes = sizeof(code);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &bytes) != 0) code = errno;
  if (code != 0) return fail(io::errno_error("", "", code));
  say_hello();
}

void ConnectAttempt::say_hello() {
  state_ = State::challenged;
  connector_.emplace(terms_for(socket_.get(), *terms_), stream_index_);
  if (auto sent = send_whole(socket_.get(), connector_->hello()); !sent) fail(sent.error());
}

void ConnectAttempt::take_challenge() {
  const auto whole = receive_rest(socket_.get(), challenge_, have_);
  const auto version = whole ? std::nullopt : other_version(std::span(challenge_).first(have_));
  if (version) {
    of_another_version_ = true;
    return fail(version_error(*version));
  }
  if (!whole) return fail(whole.error());
  if (!*whole) return;
  was_challenged_ = true;
  const auto proof = connector_->answer(challenge_);
  if (!proof) return fail(proof.error());
  const auto seal = connector_->seal_keys(challenge_);
  if (!seal) return fail(seal.error());
  seal_ = *seal;
  if (auto sent = send_whole(socket_.get(), *proof); !sent) return fail(sent.error());
  state_ = State::proven;
}

// Keeps only the cause, because all_failed() names the address.
void ConnectAttempt::fail(const io::Error& error) {
  cause_ = cause_of(error);
  socket_.reset();
}

void ConnectAttempt::fail_if_overdue(Clock::time_point now) {
  if (!under_way() || now < deadline_) return;
  const char* missing =
      state_ == State::connecting ? "does not answer" : "connected, but does not speak rdcp";
  fail(io::plain_error(io::ErrorKind::connection, "", "", missing));
}

io::Error stopped() {
  return io::plain_error(io::ErrorKind::interrupted, "connect to", "peer", "stopped");
}

io::Error all_failed(std::span<const ConnectAttempt> attempts) {
  std::string causes;
  for (const ConnectAttempt& attempt : attempts) {
    if (attempt.proven()) continue;
    const std::string cause = attempt.cause().empty() ? "does not answer" : attempt.cause();
    causes += (causes.empty() ? "" : "; ") + attempt.address().text() + ": " + cause;
  }
  if (causes.empty()) causes = "no address is known";
  io::Error error = io::plain_error(io::ErrorKind::connection, "connect to", "peer", causes);
  if (std::ranges::none_of(attempts, &ConnectAttempt::was_challenged)) error.code = ECONNREFUSED;
  if (std::ranges::any_of(attempts, &ConnectAttempt::of_another_version)) error.code = EPROTONOSUPPORT;
  return error;
}

// Waits until an attempt is ready, it is time to check `stop`, or the deadline has passed, and lets those go
// on that are ready. If only one connection is wanted, returns after the first proven one. A listener
// is watched, too, if there is one.
void poll_and_step(std::span<ConnectAttempt> attempts, const Call& call, bool only_one,
                   const TcpListener* listener = nullptr) {
  std::vector<pollfd> polls;
  for (const ConnectAttempt& attempt : attempts) polls.push_back(attempt.poll());
  if (listener != nullptr) {
    for (const int door : listener->doors()) polls.push_back({door, POLLIN, 0});
  }
  const auto wait =
      std::clamp<Clock::duration>(call.until - Clock::now(), Clock::duration::zero(), kStopLook);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait);
  const int ready = ::poll(polls.data(), polls.size(), static_cast<int>(milliseconds.count()));
  for (std::size_t i = 0; ready > 0 && i < attempts.size(); ++i) {
    if (polls[i].revents == 0) continue;
    attempts[i].step();
    if (only_one && attempts[i].proven()) return;
  }
  const auto now = Clock::now();
  for (ConnectAttempt& attempt : attempts) attempt.fail_if_overdue(now);
}

// Returns the first of the addresses that proves the key, with the connection for this stream.
io::Result<ConnectAttempt> race(const std::vector<Address>& addresses, const Call& call,
                                std::uint16_t stream = 0) {
  std::vector<ConnectAttempt> attempts;
  auto next_start = Clock::now();
  while (true) {
    if (call.stop.load()) return stopped();
    const auto now = Clock::now();
    const bool none_under_way = std::ranges::none_of(attempts, &ConnectAttempt::under_way);
    const bool all_started = attempts.size() == addresses.size();
    if (now >= call.until || (all_started && none_under_way)) return all_failed(attempts);
    if (!all_started && (none_under_way || now >= next_start)) {
      attempts.emplace_back(call, addresses[attempts.size()], stream);
      next_start = now + kNextAddress;
    }
    poll_and_step(attempts, call, true);
    const auto winner = std::ranges::find_if(attempts, &ConnectAttempt::proven);
    if (winner != attempts.end()) return std::move(*winner);
  }
}

// Makes the connections for all streams but the first, to the address that won the race.
io::Result<void> connect_rest(const Address& address, const Call& call, Sockets& sockets) {
  std::vector<ConnectAttempt> attempts;
  std::size_t next = 1;
  while (next < sockets.size() || !attempts.empty()) {
    if (call.stop.load()) return stopped();
    if (Clock::now() >= call.until) return all_failed(attempts);
    for (; next < sockets.size() && attempts.size() < kAttemptsAtOnce; ++next) {
      attempts.emplace_back(call, address, static_cast<std::uint16_t>(next));
    }
    poll_and_step(attempts, call, false);
    for (ConnectAttempt& attempt : attempts) {
      if (!attempt.cause().empty()) return all_failed(std::span(&attempt, 1));
      if (attempt.proven()) sockets[attempt.stream_index()] = attempt.take_socket();
    }
    std::erase_if(attempts, [](const ConnectAttempt& attempt) { return attempt.proven(); });
  }
  return {};
}

}  // namespace

HandshakeTerms terms_for(int socket, HandshakeTerms terms) {
  if (terms.sealing == Sealing::rather && stays_on_this_host(socket)) terms.sealing = Sealing::if_wanted;
  return terms;
}

io::Result<Sockets> connect_all(const std::vector<Address>& addresses, const TcpCall& wish,
                                std::uint16_t stream_count) {
  Sockets sockets(stream_count);
  if (stream_count == 0) return sockets;
  const Call call{wish.terms, Clock::now() + wish.deadline, wish.stop, wish.options};
  auto winner = race(addresses, call);
  if (!winner) return winner.error();
  sockets[0] = winner->take_socket();
  if (auto rest = connect_rest(winner->address(), call, sockets); !rest) return rest.error();
  return sockets;
}

io::Result<Sockets> connect_through(const TcpListener& listener, const TcpCall& wish,
                                    std::uint16_t stream_count) {
  const Call call{wish.terms, Clock::now() + wish.deadline, wish.stop, wish.options};
  Sockets sockets(stream_count);
  std::vector<ConnectAttempt> attempts;
  std::string last_cause = "nobody has connected";
  const auto missing = [&]() -> std::optional<std::uint16_t> {
    for (std::uint16_t i = 0; i < stream_count; ++i) {
      if (!sockets[i] && std::ranges::find(attempts, i, &ConnectAttempt::stream_index) == attempts.end())
        return i;
    }
    return std::nullopt;
  };
  while (!std::ranges::all_of(sockets, [](const ProvenSocket& socket) { return bool(socket); })) {
    if (call.stop.load()) return stopped();
    if (Clock::now() >= call.until) {
      return io::plain_error(io::ErrorKind::connection, "connect to peer", "through ssh", last_cause);
    }
    for (auto next = missing(); next; next = missing()) {
      io::Fd socket = listener.accept();
      if (!socket) break;
      attempts.emplace_back(call, std::move(socket), *next);
    }
    poll_and_step(attempts, call, false, missing() ? &listener : nullptr);
    for (ConnectAttempt& attempt : attempts) {
      if (!attempt.cause().empty()) last_cause = attempt.cause();
      if (attempt.proven()) sockets[attempt.stream_index()] = attempt.take_socket();
    }
    std::erase_if(attempts, [](const ConnectAttempt& attempt) { return !attempt.under_way(); });
  }
  return sockets;
}

io::Result<ProvenSocket> connect_further(const std::vector<Address>& addresses, const TcpCall& wish,
                                         std::uint16_t stream) {
  const Call call{wish.terms, Clock::now() + wish.deadline, wish.stop, wish.options};
  auto winner = race(addresses, call, stream);
  if (!winner) return winner.error();
  return winner->take_socket();
}

}  // namespace rdcp::net
