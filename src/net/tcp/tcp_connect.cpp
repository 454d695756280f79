#include "net/tcp/tcp_connect.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "io/ring.h"
#include "net/sockets/sockets.h"
#include "net/tcp/tcp_connect_attempt.h"

namespace rdcp::net {
namespace {

using io::Clock;

// How long an address is waited for before the next is tried.
constexpr std::chrono::milliseconds kNextAddress{500};

io::Error stopped() {
  return io::plain_error(io::ErrorKind::interrupted, "connect to", "peer", "stopped");
}

using Attempts = std::vector<ConnectAttempt>;

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
void poll_and_step(std::span<ConnectAttempt* const> attempts, const ConnectCall& call, bool only_one,
                   const TcpListener* listener = nullptr) {
  std::vector<pollfd> polls;
  for (const ConnectAttempt* attempt : attempts) polls.push_back(attempt->poll());
  if (listener != nullptr) {
    for (const int door : listener->doors()) polls.push_back({door, POLLIN, 0});
  }
  const auto wait =
      std::clamp<Clock::duration>(call.until - Clock::now(), Clock::duration::zero(), kStopLook);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait);
  const int ready = ::poll(polls.data(), polls.size(), static_cast<int>(milliseconds.count()));
  for (std::size_t i = 0; ready > 0 && i < attempts.size(); ++i) {
    if (polls[i].revents == 0) continue;
    attempts[i]->step();
    if (only_one && attempts[i]->proven()) return;
  }
  const auto now = Clock::now();
  for (ConnectAttempt* attempt : attempts) attempt->fail_if_overdue(now);
}

std::vector<ConnectAttempt*> all_of(Attempts& attempts) {
  std::vector<ConnectAttempt*> all;
  for (ConnectAttempt& attempt : attempts) all.push_back(&attempt);
  return all;
}

// Begins an attempt, over a connection that is open already if there is one.
ConnectAttempt begin_attempt(const ConnectCall& call, const Address& address, std::uint16_t stream,
                             std::vector<OpenConnection>& open) {
  const auto found = std::ranges::find(open, address, &OpenConnection::to);
  if (found == open.end()) return {call, address, stream};
  OpenConnection taken = std::move(*found);
  open.erase(found);
  return {call, std::move(taken), stream};
}

// Tries again over a new connection what failed over one that was open before.
void renew(Attempts& attempts, const ConnectCall& call) {
  for (ConnectAttempt& attempt : attempts) {
    if (!attempt.may_be_renewed()) continue;
    const Address to = attempt.address();
    attempt = ConnectAttempt(call, to, attempt.stream_index());
  }
}

// The connections that are under way until one address has won.
struct Race {
  Attempts first;  // for the first stream, to one address after the other
  Attempts ahead;  // for the other streams, to the address that is most likely to win
  std::vector<OpenConnection> open;
};

// Returns the first of the addresses that proves the key, with the connection for this stream. Those that
// were started ahead say hello meanwhile, but prove nothing before it is known who wins.
io::Result<ConnectAttempt> run(Race& race, const std::vector<Address>& addresses, const ConnectCall& call,
                               std::uint16_t stream) {
  Attempts& attempts = race.first;
  auto next_start = Clock::now() + (attempts.empty() ? Clock::duration::zero() : kNextAddress);
  while (true) {
    if (call.stop.load()) return stopped();
    renew(attempts, call);
    const auto now = Clock::now();
    const bool none_under_way = std::ranges::none_of(attempts, &ConnectAttempt::under_way);
    const bool all_started = attempts.size() == addresses.size();
    if (now >= call.until || (all_started && none_under_way)) return all_failed(attempts);
    if (!all_started && (none_under_way || now >= next_start)) {
      attempts.push_back(begin_attempt(call, addresses[attempts.size()], stream, race.open));
      next_start = now + kNextAddress;
    }
    auto steps = all_of(attempts);
    for (ConnectAttempt& attempt : race.ahead) {
      if (attempt.connecting()) steps.push_back(&attempt);
    }
    poll_and_step(steps, call, true);
    const auto winner = std::ranges::find_if(attempts, &ConnectAttempt::proven);
    if (winner != attempts.end()) return std::move(*winner);
  }
}

// Makes the connections for all streams but the first, to the address that won the race. Some of them may be
// on the way to it.
io::Result<void> connect_rest(const Address& address, const ConnectCall& call, Attempts attempts,
                              Sockets& sockets) {
  std::size_t next = 1 + attempts.size();
  while (next < sockets.size() || !attempts.empty()) {
    if (call.stop.load()) return stopped();
    if (Clock::now() >= call.until) return all_failed(attempts);
    for (; next < sockets.size() && attempts.size() < kConnectAtOnce; ++next) {
      attempts.emplace_back(call, address, static_cast<std::uint16_t>(next));
    }
    poll_and_step(all_of(attempts), call, false);
    renew(attempts, call);
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
                                std::uint16_t stream_count, std::vector<OpenConnection> open) {
  Sockets sockets(stream_count);
  if (stream_count == 0) return sockets;
  if (addresses.empty()) return all_failed({});
  const ConnectCall call{wish.terms, Clock::now() + wish.deadline, wish.stop, wish.options};
  Race race;
  race.open = std::move(open);
  race.first.push_back(begin_attempt(call, addresses.front(), 0, race.open));
  for (std::size_t i = 1; i < std::min<std::size_t>(stream_count, kConnectAtOnce); ++i) {
    race.ahead.push_back(begin_attempt(call, addresses.front(), static_cast<std::uint16_t>(i), race.open));
  }
  auto winner = run(race, addresses, call, 0);
  if (!winner) return winner.error();
  sockets[0] = winner->take_socket();
  if (winner->address() != addresses.front()) race.ahead.clear();
  auto rest = connect_rest(winner->address(), call, std::move(race.ahead), sockets);
  if (!rest) return rest.error();
  return sockets;
}

io::Result<Sockets> connect_through(const TcpListener& listener, const TcpCall& wish,
                                    std::uint16_t stream_count, std::chrono::milliseconds grace) {
  const ConnectCall call{wish.terms, Clock::now() + wish.deadline, wish.stop, wish.options};
  Sockets sockets(stream_count);
  Attempts attempts;
  std::size_t came = 0;
  auto idle_since = Clock::now();
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
    if (!attempts.empty() || came != listener.came_beside()) idle_since = Clock::now();
    came = listener.came_beside();
    const bool hopeless = came >= stream_count && Clock::now() - idle_since >= grace;
    if (hopeless || Clock::now() >= call.until) {
      return io::plain_error(io::ErrorKind::connection, "connect to peer", "through ssh", last_cause);
    }
    for (auto next = missing(); next; next = missing()) {
      io::Fd socket = listener.accept();
      if (!socket) break;
      const Address from = peer_address(socket.get());
      attempts.emplace_back(call, OpenConnection{from, std::move(socket)}, *next);
    }
    poll_and_step(all_of(attempts), call, false, missing() ? &listener : nullptr);
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
  const ConnectCall call{wish.terms, Clock::now() + wish.deadline, wish.stop, wish.options};
  Race race;
  auto winner = run(race, addresses, call, stream);
  if (!winner) return winner.error();
  return winner->take_socket();
}

}  // namespace rdcp::net
