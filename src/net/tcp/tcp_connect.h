// Sets up a job's TCP connections: listens, connects, proves the key. Calls block, most of them with a
// deadline; this is not the data path.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/fd.h"
#include "io/result.h"
#include "net/crypto/handshake.h"
#include "net/sockets/address.h"
#include "net/sockets/traffic_class.h"
#include "net/sockets/user_socket.h"
#include "net/tcp/knock.h"

namespace rdcp::net {

// Says who chooses the congestion control: the user has, or a stream may where its path loses packets
// (lossy_path.h).
enum class CongestionChoice : unsigned char { made, open };

struct TcpOptions {
  // Congestion control for the job's sockets (TCP_CONGESTION); if empty, the system's default.
  std::string congestion;
  TrafficClass traffic_class = {};

  CongestionChoice choice() const {
    return congestion.empty() ? CongestionChoice::open : CongestionChoice::made;
  }
};

// A connection whose two sides have proven the key, and the keys that seal it, if it is sealed. Where the
// connector has proven itself early, the listener's welcome is still to come, before anything else.
struct ProvenSocket {
  io::Fd fd;
  std::optional<SealKeys> seal;
  std::optional<Mac> welcome = {};
  explicit operator bool() const { return bool(fd); }
  int get() const { return fd.get(); }
};

// Returns the terms for this connection: one that stays on this host need not be sealed (Sealing::if_wanted
// for Sealing::rather).
HandshakeTerms terms_for(int socket, HandshakeTerms terms);

// Sockets by stream index. They are non-blocking, with TCP_NODELAY, and with keepalive so that a peer that is
// gone while nothing is sent is noticed within 25 s; while something is sent, see Stream::check_connection().
using Sockets = std::vector<ProvenSocket>;

// How connections are made. Another thread sets `stop`, after which a call ends within kStopLook.
struct TcpCall {
  HandshakeTerms terms;
  std::chrono::milliseconds deadline;
  const std::atomic<bool>& stop;
  TcpOptions options = {};
};

// A listening socket for one job alone, IPv6 dual-stack if the host has IPv6.
class TcpListener {
 public:
  // bind_address is a numeric address, or empty for all. With port 0 the kernel picks one.
  static io::Result<TcpListener> open(const std::string& bind_address, std::uint16_t port = 0);
  // Opens it on the first port of the range that is free.
  static io::Result<TcpListener> open_within(const std::string& bind_address, const PortRange& ports);
  // Also listens at the socket beside the port (net/sockets/user_socket.h), for connections that ssh brings
  // from another host. If that cannot be opened they come to the port.
  void open_beside();
  // Answers connections with this traffic class from now on. Error: as of set_traffic_class().
  io::Result<void> mark(TrafficClass traffic_class) const {
    return set_traffic_class(fd_.get(), traffic_class);
  }
  std::uint16_t port() const { return port_; }
  // Returns what poll(2) must watch for a new connection; -1 for what is not there.
  static constexpr std::size_t kDoors = 2;
  std::array<int, kDoors> doors() const { return {fd_.get(), beside_ ? beside_->fd() : -1}; }
  // Returns a connection that is waiting, which does not block, or an empty descriptor, with errno.
  io::Fd accept() const;
  // How many have come beside the port so far; strangers are not among them.
  std::size_t came_beside() const { return beside_ ? beside_->came() : 0; }
  // Waits without a deadline for one proven connection, and goes on listening. Strangers are treated as in
  // accept_all(); on_refusal is called for each, with "ADDRESS:PORT: cause".
  using OnRefusal = std::function<void(const std::string& who_and_why)>;
  io::Result<ProvenSocket> accept_one(const HandshakeTerms& terms, const std::atomic<bool>& stop,
                                      const TcpOptions& options, OnRefusal on_refusal);
  // Accepts until every index below stream_count has a proven connection, then closes the listening socket
  // (also after an error, because a listener serves one job). At most kPendingMax unproven connections are
  // held, each for terms.time_limit at most; for a further one the oldest is closed. If the new one were
  // refused instead, anybody with kPendingMax silent connections could keep out the true peer, who needs only
  // a round trip or two to be proven. A wrong key or garbage closes only that connection. If two connections
  // prove the same index, the later one counts, because the peer has given the earlier one up. `stop` is
  // checked every 100 ms. Errors: the deadline has passed, with what the last refused peer did wrong
  // (connection); stopped (interrupted).
  io::Result<Sockets> accept_all(const HandshakeTerms& terms, std::uint16_t stream_count,
                                 std::chrono::milliseconds deadline, const std::atomic<bool>& stop,
                                 const TcpOptions& options);
  // Does the same, but goes on listening. given_up: says which connections will not come, because the peer
  // has lost them already; their places stay empty.
  io::Result<Sockets> accept_first(const TcpCall& call, std::uint16_t stream_count,
                                   const std::function<bool(std::uint16_t)>& given_up = {});
  // Waits without a deadline for one more proven connection, whose number may be any below `limit`.
  struct Further {
    std::uint16_t stream = 0;
    ProvenSocket socket;
  };
  io::Result<Further> accept_further(const HandshakeTerms& terms, std::uint16_t limit,
                                     const std::atomic<bool>& stop, const TcpOptions& options);
  // Any thread may call this. Once `stop` is set, it ends a wait for a connection at once.
  void interrupt();
  static constexpr std::size_t kPendingMax = 32;

 private:
  TcpListener(io::Fd fd, std::uint16_t port) : fd_(std::move(fd)), port_(port) {}
  io::Fd fd_;
  std::uint16_t port_;
  std::optional<UserSocket> beside_;
};

// Tries the addresses in order, and makes stream_count proven connections to the first that proves the key.
// The next address is tried after 500 ms without an answer. Only the winner is ever sent a proof, so the
// listener counts no connection that is not used. If the first address wins, up to kConnectAtOnce of them
// take two round trips together: connect and hello, challenge and proof. Connections to it that are open
// already are used first, and cost only one, or none with early terms; what fails over them is tried again
// over new ones, but for what fails before an early welcome, which is for their streams to tell. Errors: each
// address that was tried and its cause (connection), with the code EPROTONOSUPPORT if one speaks another
// version, else ECONNREFUSED if none of them sent a challenge, so that trying again may help; stopped
// (interrupted).
io::Result<Sockets> connect_all(const std::vector<Address>& addresses, const TcpCall& call,
                                std::uint16_t stream_count, std::vector<OpenConnection> open = {});
// So many connections of one call are under way at once, which leaves the listener room for strangers.
inline constexpr std::size_t kConnectAtOnce = TcpListener::kPendingMax / 2;

// Takes stream_count connections that come to the listener, and proves the key over each as if it had made
// it; a connection whose other end does not prove the key is dropped. For connections that somebody else
// carries from one listener to the other. grace: how long others are waited for once as many as are
// needed have come beside the port, because whoever carries them has no more. Errors: as of connect_all().
io::Result<Sockets> connect_through(const TcpListener& listener, const TcpCall& call,
                                    std::uint16_t stream_count, std::chrono::milliseconds grace);

// Makes one more stream, with this number, in the same way as connect_all().
io::Result<ProvenSocket> connect_further(const std::vector<Address>& addresses, const TcpCall& call,
                                         std::uint16_t stream);

}  // namespace rdcp::net
