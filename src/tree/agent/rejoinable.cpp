#include "tree/agent/rejoinable.h"

#include <utility>

#include "io/descriptors.h"

namespace rdcp::tree {

namespace {

constexpr const char* kCoordinator = "the coordinator";
// How long whoever has connected may take to say how much it has received.
constexpr std::chrono::seconds kSayMax{5};
// When the connection is lost, sshd closes both directions, one just after the other. If the coordinator has
// ended, ssh closes only the one that the agent reads from.
constexpr std::chrono::milliseconds kCloseBoth{500};
// How long an agent waits that has lost the other agent, too: then its coordinator has probably ended.
constexpr std::chrono::seconds kAloneMax{5};

}  // namespace

void Rejoinable::open() {
  auto opened = net::UserSocket::open();
  if (!opened) return;
  socket_.emplace(std::move(*opened));
  control_.keep_unacknowledged();
}

bool Rejoinable::stay(const Stay& wish) {
  if (!socket_) return false;
  patience_ = std::chrono::seconds(wish.seconds);
  control_.outlast_connection();
  return true;
}

bool Rejoinable::is_loss(const io::Error& error) const {
  return error.kind == io::ErrorKind::connection && control_.can_go_on() && control_.is_unread(kCloseBoth);
}

bool Rejoinable::leave() {
  if (!control_.can_go_on()) return false;
  control_.lose_connection();
  away_since_ = Clock::now();
  return true;
}

bool Rejoinable::still_waits(bool connected) {
  const auto now = Clock::now();
  if (connected) alone_since_.reset();
  if (!connected && !alone_since_) alone_since_ = now;
  const bool alone = alone_since_ && now - *alone_since_ >= kAloneMax;
  return !alone && now - *away_since_ < patience_ && control_.can_go_on();
}

// Who connects runs as this user, but may be anything; a coordinator says first how much it has received.
bool Rejoinable::let_in() {
  io::Fd in = socket_->accept();
  if (!in || !control_.can_go_on()) return false;
  auto out = io::duplicate(in.get(), kCoordinator);
  if (!out) return false;
  ControlChannel fresh(std::move(in), std::move(*out), kCoordinator);
  const auto said = fresh.wait(Clock::now() + kSayMax);
  const auto rejoin = said ? fresh.decode<Rejoin>(*said) : said.error();
  if (!rejoin || !fresh.send(Rejoin{.received = control_.received()})) return false;
  if (!control_.go_on_over(fresh, rejoin->received)) return false;
  away_since_.reset();
  alone_since_.reset();
  return true;
}

}  // namespace rdcp::tree
