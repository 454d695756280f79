// An agent's part in being rejoined by a coordinator that has lost the connection to it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "io/result.h"
#include "net/sockets/user_socket.h"
#include "tree/messages/rejoin.h"
#include "tree/protocol/control.h"

namespace rdcp::tree {

// Belongs to the agent's control thread.
class Rejoinable {
 public:
  // control must outlive this.
  explicit Rejoinable(ControlChannel& control) : control_(control) {}

  // Opens the socket where the agent waits. To be called before anything is sent. An agent that cannot have
  // one does without.
  void open();
  // The socket's name, and the descriptor that poll(2) must watch before let_in() is called; "" and -1 if
  // there is none.
  std::string name() const { return socket_ ? socket_->name() : std::string(); }
  int fd() const { return socket_ ? socket_->fd() : -1; }

  // The coordinator will rejoin the agent. Returns false if it cannot.
  bool stay(const Stay& wish);
  // Tells the loss of the connection from the end of the coordinator. Waits at most 500 ms.
  bool is_loss(const io::Error& error) const;
  // The connection is lost: closes it. Returns false if there is nothing to wait for.
  bool leave();
  // True from leave() on, until the coordinator is back.
  bool away() const { return away_since_.has_value(); }
  // While it is away: returns false once it has been so for too long. connected: the other agent is there.
  bool still_waits(bool connected);
  // Somebody has connected. Returns true if it was the coordinator, which may be back before its loss has
  // been noticed here.
  bool let_in();

 private:
  using Clock = std::chrono::steady_clock;

  ControlChannel& control_;
  std::optional<net::UserSocket> socket_;
  std::chrono::seconds patience_{0};
  std::optional<Clock::time_point> away_since_, alone_since_;
};

}  // namespace rdcp::tree
