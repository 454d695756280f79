// One connection on its way to being proven, for those who make several at once.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/fd.h"
#include "io/ring.h"
#include "net/crypto/handshake.h"
#include "net/tcp/knock.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::net {

// The terms that all connections of one connect_all() share.
struct ConnectCall {
  const HandshakeTerms& terms;
  io::Clock::time_point until;
  const std::atomic<bool>& stop;
  const TcpOptions& options;
};

// One attempt at a proven connection.
class ConnectAttempt {
 public:
  ConnectAttempt(const ConnectCall& call, const Address& address, std::uint16_t stream_index);
  // Over a connection that is open already.
  ConnectAttempt(const ConnectCall& call, OpenConnection open, std::uint16_t stream_index);

  const Address& address() const { return address_; }
  std::uint16_t stream_index() const { return stream_index_; }
  bool connecting() const { return state_ == State::connecting && cause_.empty(); }
  // True if it failed over a connection that was open already, so another one may do.
  bool may_be_renewed() const { return was_open_ && !cause_.empty(); }
  bool proven() const { return state_ == State::proven; }
  bool was_challenged() const { return was_challenged_; }
  bool of_another_version() const { return of_another_version_; }
  // Says why it failed; empty as long as it has not.
  const std::string& cause() const { return cause_; }
  bool under_way() const { return !proven() && cause_.empty(); }
  ProvenSocket take_socket() { return {std::move(socket_), seal_, welcome_}; }

  pollfd poll() const {
    return {under_way() ? socket_.get() : -1,
            static_cast<short>(state_ == State::connecting ? POLLOUT : POLLIN), 0};
  }
  // Goes on as far as it can, once the socket is ready.
  void step();
  void fail_if_overdue(io::Clock::time_point now);

 private:
  enum class State : unsigned char { connecting, challenged, proven };

  void connect(const TcpOptions& options);
  void finish_connecting();
  void say_hello();
  void say_early_hello(const HandshakeTerms& terms);
  void take_challenge();
  void fail(const io::Error& error);

  Address address_;
  std::uint16_t stream_index_;
  io::Clock::time_point deadline_;
  const HandshakeTerms* terms_;
  std::optional<Connector> connector_;  // once it is connected
  State state_ = State::connecting;
  std::string cause_;
  io::Fd socket_;
  std::optional<SealKeys> seal_;
  std::optional<Mac> welcome_;  // if it has proven itself early: what the listener is still to send
  std::array<std::byte, kChallengeBytes> challenge_;
  std::size_t have_ = 0;
  bool was_open_ = false;
  bool was_challenged_ = false;
  bool of_another_version_ = false;
};

}  // namespace rdcp::net
