#include "net/rdma/rdma_connect.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "io/ring.h"
#include "net/rdma/rdma_connect_attempt.h"
#include "net/sockets/routes.h"
#include "net/sockets/sockets.h"

namespace rdcp::net {
namespace {

using io::Clock;

// Fewer attempts at once than a listener holds unproven connections, so that none pushes out another.
constexpr std::size_t kAttemptsAtOnce = RdmaListener::kPendingMax / 2;

io::Error stopped() {
  return io::plain_error(io::ErrorKind::interrupted, "connect to", "peer", "stopped");
}

// cause is empty if there is none yet.
std::string cause_text(const Rail& rail, const std::string& cause) {
  return rail.connecting.name() + " -> " + rail.listening.address() + ": " +
         (cause.empty() ? "does not answer" : cause);
}

// failed has the pairs of ports that were tried, or have no route, with their causes.
io::Error all_failed(const std::vector<std::string>& failed) {
  constexpr std::size_t kNamedMax = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(failed.size(), kNamedMax); ++i) {
    text += (i == 0 ? "" : "; ") + failed[i];
  }
  if (failed.size() > kNamedMax) text += fmt::format("; and {} more", failed.size() - kNamedMax);
  if (text.empty()) text = "no RDMA path is known";
  return io::plain_error(io::ErrorKind::connection, "connect to", "peer", text);
}

using Attempts = std::vector<std::unique_ptr<RdmaConnectAttempt>>;

void wait_for(const Attempts& attempts, const RdmaCall& call) {
  std::vector<pollfd> polls;
  for (const auto& attempt : attempts) attempt->append_polls(polls);
  ::poll(polls.data(), polls.size(), static_cast<int>(kStopLook.count()));
  if (call.pairs != nullptr) call.pairs->quiet();  // each attempt looks for its own answers now
}

// All streams of one connect_rails().
class RailCall {
 public:
  RailCall(const std::vector<Rail>& candidates, const RdmaCall& call);
  io::Result<RailConnections> run();

 private:
  void leave_out_what_has_no_route();
  void search(Clock::time_point now);
  void start(std::size_t rail, std::uint16_t stream);
  void start_attempts();
  // Tries another pair beside one that does not answer.
  void start_others(const RdmaConnectAttempt& silent);
  void take_results();
  void take_connection(RdmaConnectAttempt& proven);
  void drop(std::unique_ptr<RdmaConnectAttempt>& attempt, const std::string& cause);
  bool is_dialled(std::uint16_t stream) const;
  io::Error failed() const;
  RailConnections result();

  RailPlan plan_;
  const std::vector<std::size_t> first_choice_;
  const RdmaCall& call_;
  const Clock::time_point started_ = Clock::now();
  std::vector<std::uint16_t> waiting_;  // streams without an attempt, the first one last
  Attempts attempts_;                   // null where one has ended
  RdmaConnections connections_;
};

RailCall::RailCall(const std::vector<Rail>& candidates, const RdmaCall& call)
    : plan_(candidates), first_choice_(plan_.rails()), call_(call), connections_(call.stream_count) {
  for (std::uint16_t stream = call.stream_count; stream > 0; --stream) {
    waiting_.push_back(static_cast<std::uint16_t>(stream - 1));
  }
}

io::Result<RailConnections> RailCall::run() {
  leave_out_what_has_no_route();
  while (!waiting_.empty() || !attempts_.empty()) {
    const auto now = Clock::now();
    if (call_.stop.load()) return stopped();
    search(now);
    if (plan_.all_failed() || now >= started_ + call_.deadline) return failed();
    start_attempts();
    wait_for(attempts_, call_);
    take_results();
  }
  return result();
}

void RailCall::leave_out_what_has_no_route() {
  Routes routes;
  for (std::size_t i = 0; i < plan_.candidates().size(); ++i) {
    const Rail& rail = plan_.candidates()[i];
    if (rail.connecting.by_hand()) continue;
    const std::string problem =
        routes.problem(rail.connecting.host, rail.connecting.interface, rail.listening.host);
    if (!problem.empty()) plan_.set_lost(i, problem);
  }
}

// The search for rails that work gets wider while it has none, and has an end, because TCP waits.
void RailCall::search(Clock::time_point now) {
  if (!plan_.any_works() && now >= started_ + call_.patience.no_answer) plan_.take_slower_ones();
  if (now >= started_ + call_.patience.search) plan_.try_no_more();
}

void RailCall::start(std::size_t rail, std::uint16_t stream) {
  plan_.add_stream(rail);
  attempts_.push_back(std::make_unique<RdmaConnectAttempt>(call_, plan_.candidates()[rail], rail, stream));
  attempts_.back()->step();
}

void RailCall::start_attempts() {
  for (std::size_t i = attempts_.size(); i > 0; --i) start_others(*attempts_[i - 1]);
  const auto busy = [this](const auto& attempt) {
    return plan_.state(attempt->rail_index()) != RailPlan::State::slow;
  };
  while (!waiting_.empty() &&
         static_cast<std::size_t>(std::ranges::count_if(attempts_, busy)) < kAttemptsAtOnce) {
    const auto rail = plan_.next();
    if (!rail) return;
    start(*rail, waiting_.back());
    waiting_.pop_back();
  }
}

void RailCall::start_others(const RdmaConnectAttempt& silent) {
  if (!silent.silent_for(call_.patience.next_rail)) return;
  plan_.set_slow(silent.rail_index());
  const bool still_dialled = std::ranges::any_of(attempts_, [&](const auto& other) {
    return other->stream_index() == silent.stream_index() &&
           plan_.state(other->rail_index()) != RailPlan::State::slow;
  });
  if (still_dialled) return;
  if (const auto other = plan_.instead_of(silent.rail_index())) start(*other, silent.stream_index());
}

// Only one of the attempts at a stream is ever proven, because the listener takes the last that is. So the
// others are dropped before they go on.
void RailCall::take_results() {
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (!attempts_[i]) continue;
    attempts_[i]->step();
    if (attempts_[i]->proven()) {
      take_connection(*attempts_[i]);
      attempts_[i].reset();
    } else if (!attempts_[i]->cause().empty()) {
      drop(attempts_[i], std::string(attempts_[i]->cause()));
    }
  }
  std::erase(attempts_, nullptr);
}

void RailCall::take_connection(RdmaConnectAttempt& proven) {
  plan_.set_works(proven.rail_index());
  connections_[proven.stream_index()] = proven.take();
  for (auto& other : attempts_) {
    if (!other || other.get() == &proven) continue;
    const bool superseded = other->stream_index() == proven.stream_index();
    const bool its_port_is_taken = plan_.state(other->rail_index()) == RailPlan::State::slow &&
                                   plan_.shares_port(other->rail_index(), proven.rail_index());
    if (superseded || its_port_is_taken) drop(other, "did not answer before another pair of ports did");
  }
}

// Connections of other streams over a lost rail stay, because it may be lost only for new ones.
void RailCall::drop(std::unique_ptr<RdmaConnectAttempt>& attempt, const std::string& cause) {
  const std::uint16_t stream = attempt->stream_index();
  plan_.remove_stream(attempt->rail_index());
  plan_.set_lost(attempt->rail_index(), cause);
  attempt.reset();
  if (!connections_[stream] && !is_dialled(stream)) waiting_.push_back(stream);
}

bool RailCall::is_dialled(std::uint16_t stream) const {
  return std::ranges::any_of(
      attempts_, [stream](const auto& attempt) { return attempt && attempt->stream_index() == stream; });
}

io::Error RailCall::failed() const {
  std::vector<std::string> failed;
  for (std::size_t i = 0; i < plan_.candidates().size(); ++i) {
    if (plan_.state(i) == RailPlan::State::untried) continue;
    failed.push_back(cause_text(plan_.candidates()[i], plan_.cause(i)));
  }
  return all_failed(failed);
}

RailConnections RailCall::result() {
  RailConnections result{std::move(connections_), {}, {}};
  for (std::size_t i = 0; i < plan_.candidates().size(); ++i) {
    const Rail& rail = plan_.candidates()[i];
    const bool works = plan_.state(i) == RailPlan::State::works;
    (works ? result.rails.working : result.rails.others).push_back(rail);
    const bool was_chosen = std::ranges::find(first_choice_, i) != first_choice_.end();
    if (was_chosen && plan_.state(i) == RailPlan::State::lost) {
      result.lost_rails.push_back("rail " + cause_text(rail, plan_.cause(i)));
    }
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
  Attempts attempts_;  // one for each rail tried so far
};

io::Result<RdmaConnectionPtr> RailRace::run() {
  const auto until = Clock::now() + call_.deadline;
  for (;;) {
    if (call_.stop.load()) return stopped();
    start_next();
    if (under_way() == 0 || Clock::now() >= until) return failed();
    wait_for(attempts_, call_);
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
  std::vector<std::string> failed;
  for (const auto& attempt : attempts_) {
    failed.push_back(cause_text(rails_[attempt->rail_index()], attempt->cause()));
  }
  return all_failed(failed);
}

}  // namespace

io::Result<RailConnections> connect_rails(const std::vector<Rail>& candidates, const RdmaCall& call) {
  return RailCall(candidates, call).run();
}

io::Result<RdmaConnectionPtr> connect_further(const KnownRails& rails, const RdmaCall& call,
                                              std::uint16_t stream) {
  std::vector<Rail> in_turn = rails.working;
  if (!in_turn.empty()) {
    std::rotate(in_turn.begin(), in_turn.begin() + static_cast<std::ptrdiff_t>(stream % in_turn.size()),
                in_turn.end());
  }
  in_turn.insert(in_turn.end(), rails.others.begin(), rails.others.end());
  return RailRace(std::move(in_turn), call, stream).run();
}

}  // namespace rdcp::net
