#include "net/rdma/rdma_connect.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "io/ring.h"
#include "net/rdma/rdma_connection.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using io::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kTryAgain{200};  // after a failed attempt
constexpr milliseconds kResolveMax{2000};
// Fewer attempts at once than a listener holds unproven connections, so that none pushes out another.
constexpr std::size_t kAttemptsAtOnce = RdmaListener::kPendingMax / 2;

// Attempts at one proven connection over a rail.
class RdmaConnectAttempt {
 public:
  RdmaConnectAttempt(const RdmaCall& call, const Rail& rail, std::size_t rail_index,
                     std::uint16_t stream_index);

  std::size_t rail_index() const { return rail_index_; }
  std::uint16_t stream_index() const { return stream_index_; }
  bool proven() const { return state_ == State::proven; }
  // Says why it was given up; empty as long as it was not.
  const std::string& cause() const { return cause_; }
  RdmaConnectionPtr take() { return std::move(connection_); }

  void append_polls(std::vector<pollfd>& polls) const;
  // Goes on as far as it can.
  void step();

 private:
  enum class State : unsigned char {
    waiting,
    resolving_address,
    resolving_route,
    connecting,
    challenged,
    proven
  };

  void begin();
  void take_event(const CmEvent& event);
  void take_message(const RdmaQueue::Completion& completion);
  void connect();
  void hello();
  void try_again(const io::Error& error, Clock::duration limit);
  void fail(const io::Error& error);
  void fail_if_overdue();
  bool under_way() const { return !proven() && cause_.empty(); }
  std::string peer() const { return Address{rail_.listening.host, rail_.listening.listen_port}.text(); }

  const RdmaCall& call_;
  Rail rail_;
  std::size_t rail_index_;
  std::uint16_t stream_index_;
  Connector connector_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point attempt_at_ = started_;  // when the attempt began or, while waiting, will begin
  State state_ = State::waiting;
  std::string cause_;
  EventChannel channel_;  // these two are used until there is a connection
  CmId id_;
  RdmaConnectionPtr connection_;
};

RdmaConnectAttempt::RdmaConnectAttempt(const RdmaCall& call, const Rail& rail, std::size_t rail_index,
                                       std::uint16_t stream_index)
    : call_(call),
      rail_(rail),
      rail_index_(rail_index),
      stream_index_(stream_index),
      connector_(call.key, stream_index) {}

void RdmaConnectAttempt::append_polls(std::vector<pollfd>& polls) const {
  if (!under_way()) return;
  if (channel_) polls.push_back({channel_->fd, POLLIN, 0});
  if (!connection_) return;
  polls.push_back({connection_->channel().fd, POLLIN, 0});
  polls.push_back({connection_->queue().fd(), POLLIN, 0});
}

void RdmaConnectAttempt::step() {
  if (state_ == State::waiting && Clock::now() >= attempt_at_) begin();
  while (under_way()) {
    rdma_event_channel* channel = connection_ ? &connection_->channel() : channel_.get();
    if (channel == nullptr) break;
    const auto event = next_cm_event(*channel);
    if (!event) break;
    take_event(*event);
  }
  if (connection_ && under_way()) connection_->queue().take_bell();
  while (connection_ && under_way()) {
    const auto completion = connection_->queue().next();
    if (!completion) break;
    take_message(*completion);
  }
  fail_if_overdue();
}

void RdmaConnectAttempt::begin() {
  auto from = to_socket_address({rail_.connecting.host, 0});
  if (!from) return fail(from.error());
  auto to = to_socket_address({rail_.listening.host, rail_.listening.listen_port});
  if (!to) return fail(to.error());
  auto channel = open_event_channel();
  if (!channel) return fail(channel.error());
  channel_ = std::move(*channel);
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    return fail(io::errno_error("connect to", peer(), errno, io::ErrorKind::connection));
  }
  id_.reset(id);
  state_ = State::resolving_address;
  attempt_at_ = Clock::now();
  // The id is bound to the rail's own address, so that a host with several ports uses this one.
  if (rdma_resolve_addr(id, from->get(), to->get(), static_cast<int>(kResolveMax.count())) != 0) {
    try_again(io::errno_error("connect to", peer(), errno, io::ErrorKind::connection),
              call_.patience.no_answer);
  }
}

void RdmaConnectAttempt::take_event(const CmEvent& event) {
  if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED && state_ == State::resolving_address) {
    state_ = State::resolving_route;
    if (rdma_resolve_route(id_.get(), static_cast<int>(kResolveMax.count())) != 0) {
      try_again(io::errno_error("connect to", peer(), errno, io::ErrorKind::connection),
                call_.patience.no_answer);
    }
  } else if (event.type == RDMA_CM_EVENT_ROUTE_RESOLVED && state_ == State::resolving_route) {
    connect();
  } else if (event.type == RDMA_CM_EVENT_ESTABLISHED && state_ == State::connecting) {
    hello();
  } else {
    const bool refused = event.type == RDMA_CM_EVENT_REJECTED || event.type == RDMA_CM_EVENT_DISCONNECTED;
    try_again(cm_error(event.type, event.status, peer()),
              refused ? call_.patience.refused : call_.patience.no_answer);
  }
}

void RdmaConnectAttempt::connect() {
  auto connection = RdmaConnection::create(std::move(channel_), std::move(id_), rail_.connecting, call_);
  if (!connection) return fail(connection.error());
  connection_ = std::move(*connection);
  state_ = State::connecting;
  rdma_conn_param parameters = connection_parameters();
  if (rdma_connect(&connection_->id(), &parameters) != 0) {
    try_again(io::errno_error("connect to", peer(), errno, io::ErrorKind::connection),
              call_.patience.no_answer);
  }
}

void RdmaConnectAttempt::hello() {
  state_ = State::challenged;
  if (auto sent = connection_->queue().send(connector_.hello()); !sent) fail(sent.error());
}

void RdmaConnectAttempt::take_message(const RdmaQueue::Completion& completion) {
  if (completion.status != IBV_WC_SUCCESS) {
    return try_again(completion_error(completion.status, peer()), call_.patience.refused);
  }
  if (completion.kind != RdmaQueue::Kind::received) return;
  const auto message = connection_->queue().received(completion);
  if (state_ != State::challenged || message.size() != kChallengeBytes) {
    return fail(io::plain_error(io::ErrorKind::protocol, "", "", "does not speak rdcp"));
  }
  const auto proof = connector_.answer(message.first<kChallengeBytes>());
  if (!proof) return fail(proof.error());
  const auto seal = connector_.seal_keys(message.first<kChallengeBytes>());
  if (!seal) return fail(seal.error());
  connection_->set_seal(*seal);
  if (auto posted = connection_->queue().repost(completion.index); !posted) return fail(posted.error());
  if (auto sent = connection_->queue().send(*proof); !sent) return fail(sent.error());
  state_ = State::proven;
}

void RdmaConnectAttempt::try_again(const io::Error& error, Clock::duration limit) {
  if (Clock::now() + kTryAgain >= started_ + limit) return fail(error);
  connection_.reset();
  id_.reset();
  channel_.reset();
  state_ = State::waiting;
  attempt_at_ = Clock::now() + kTryAgain;
}

// Keeps only the cause, because whoever reports it names the address.
void RdmaConnectAttempt::fail(const io::Error& error) {
  cause_ = cause_of(error);
  connection_.reset();
  id_.reset();
  channel_.reset();
}

void RdmaConnectAttempt::fail_if_overdue() {
  if (!under_way() || state_ == State::waiting) return;
  const Clock::duration limit = state_ == State::challenged ? call_.key.time_limit : call_.patience.no_answer;
  if (Clock::now() - attempt_at_ < limit) return;
  const char* missing =
      state_ == State::challenged ? "connected, but does not speak rdcp" : "does not answer";
  fail(io::plain_error(io::ErrorKind::connection, "", "", missing));
}

io::Error stopped() {
  return io::plain_error(io::ErrorKind::interrupted, "connect to", "peer", "stopped");
}

// cause is empty if there is none yet.
std::string cause_text(const Rail& rail, const std::string& cause) {
  return rail.connecting.device + " -> " + rail.listening.host + ": " +
         (cause.empty() ? "does not answer" : cause);
}

// causes has one cause for each rail.
io::Error all_failed(const std::vector<Rail>& rails, const std::vector<std::string>& causes) {
  std::string text;
  for (std::size_t rail = 0; rail < rails.size(); ++rail) {
    text += (text.empty() ? "" : "; ") + cause_text(rails[rail], causes[rail]);
  }
  if (text.empty()) text = "no RDMA path is known";
  return io::plain_error(io::ErrorKind::connection, "connect to", "peer", text);
}

void wait_for(const std::vector<std::unique_ptr<RdmaConnectAttempt>>& attempts) {
  std::vector<pollfd> polls;
  for (const auto& attempt : attempts) attempt->append_polls(polls);
  ::poll(polls.data(), polls.size(), static_cast<int>(kStopLook.count()));
}

// All streams of one connect_rails().
class RailCall {
 public:
  RailCall(const std::vector<Rail>& rails, const RdmaCall& call);
  io::Result<RailConnections> run();

 private:
  bool lost(std::size_t rail) const { return !causes_[rail].empty(); }
  bool all_lost() const {
    return std::ranges::none_of(causes_, [](const std::string& cause) { return cause.empty(); });
  }
  std::size_t next_rail(std::uint16_t stream) const;
  void start_attempts();
  void take_results();
  RailConnections result();

  const std::vector<Rail>& rails_;
  const RdmaCall& call_;
  Clock::time_point until_;
  std::vector<std::string> causes_;     // of each rail; empty as long as it is not lost
  std::vector<std::uint16_t> waiting_;  // streams without an attempt, the first one last
  std::vector<std::unique_ptr<RdmaConnectAttempt>> attempts_;
  RdmaConnections connections_;
};

RailCall::RailCall(const std::vector<Rail>& rails, const RdmaCall& call)
    : rails_(rails),
      call_(call),
      until_(Clock::now() + call.deadline),
      causes_(rails.size()),
      connections_(call.stream_count) {
  for (std::uint16_t stream = call.stream_count; stream > 0; --stream) {
    waiting_.push_back(static_cast<std::uint16_t>(stream - 1));
  }
}

io::Result<RailConnections> RailCall::run() {
  while (!waiting_.empty() || !attempts_.empty()) {
    if (call_.stop.load()) return stopped();
    if (all_lost() || Clock::now() >= until_) return all_failed(rails_, causes_);
    start_attempts();
    wait_for(attempts_);
    for (const auto& attempt : attempts_) attempt->step();
    take_results();
  }
  return result();
}

std::size_t RailCall::next_rail(std::uint16_t stream) const {
  std::size_t rail = stream % rails_.size();
  while (lost(rail)) rail = (rail + 1) % rails_.size();
  return rail;
}

void RailCall::start_attempts() {
  while (!waiting_.empty() && attempts_.size() < kAttemptsAtOnce) {
    const std::uint16_t stream = waiting_.back();
    waiting_.pop_back();
    const std::size_t rail = next_rail(stream);
    attempts_.push_back(std::make_unique<RdmaConnectAttempt>(call_, rails_[rail], rail, stream));
    attempts_.back()->step();
  }
}

// Connections of other streams over a lost rail stay, because it may be lost only for new ones.
void RailCall::take_results() {
  for (const auto& attempt : attempts_) {
    if (attempt->proven()) connections_[attempt->stream_index()] = attempt->take();
    if (attempt->cause().empty()) continue;
    causes_[attempt->rail_index()] = attempt->cause();
    waiting_.push_back(attempt->stream_index());
  }
  std::erase_if(attempts_,
                [](const auto& attempt) { return attempt->proven() || !attempt->cause().empty(); });
}

RailConnections RailCall::result() {
  RailConnections result{std::move(connections_), {}};
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (lost(rail)) result.lost_rails.push_back("rail " + cause_text(rails_[rail], causes_[rail]));
  }
  return result;
}

// Tries rails for one connect_further(), in their order.
class RailRace {
 public:
  RailRace(std::vector<Rail> rails, const RdmaCall& call, std::uint16_t stream)
      : rails_(std::move(rails)), call_(call), stream_(stream) {}
  io::Result<RdmaConnectionPtr> run();

 private:
  void start_next();
  // This is only called while none of them is proven.
  std::size_t under_way() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(attempts_, [](const auto& attempt) { return attempt->cause().empty(); }));
  }
  io::Error failed() const;

  const std::vector<Rail> rails_;
  const RdmaCall& call_;
  const std::uint16_t stream_;
  Clock::time_point next_start_;
  std::vector<std::unique_ptr<RdmaConnectAttempt>> attempts_;  // one for each rail tried so far
};

io::Result<RdmaConnectionPtr> RailRace::run() {
  const auto until = Clock::now() + call_.deadline;
  for (;;) {
    if (call_.stop.load()) return stopped();
    start_next();
    if (under_way() == 0 || Clock::now() >= until) return failed();
    wait_for(attempts_);
    for (const auto& attempt : attempts_) {
      attempt->step();
      if (attempt->proven()) return attempt->take();
    }
  }
}

// Starts the next attempt, at once if all others have failed.
void RailRace::start_next() {
  while (attempts_.size() < rails_.size() && under_way() < kAttemptsAtOnce) {
    if (under_way() > 0 && Clock::now() < next_start_) return;
    attempts_.push_back(
        std::make_unique<RdmaConnectAttempt>(call_, rails_[attempts_.size()], attempts_.size(), stream_));
    next_start_ = Clock::now() + call_.patience.next_rail;
    attempts_.back()->step();
  }
}

io::Error RailRace::failed() const {
  std::vector<std::string> causes(rails_.size());
  std::ranges::transform(attempts_, causes.begin(), [](const auto& attempt) { return attempt->cause(); });
  return all_failed(rails_, causes);
}

}  // namespace

io::Result<RailConnections> connect_rails(const std::vector<Rail>& rails, const RdmaCall& call) {
  return RailCall(rails, call).run();
}

io::Result<RdmaConnectionPtr> connect_further(const std::vector<Rail>& rails, const RdmaCall& call,
                                              std::uint16_t stream) {
  std::vector<Rail> in_turn = rails;
  if (!rails.empty()) {
    std::rotate(in_turn.begin(), in_turn.begin() + static_cast<std::ptrdiff_t>(stream % rails.size()),
                in_turn.end());
  }
  return RailRace(std::move(in_turn), call, stream).run();
}

}  // namespace rdcp::net
