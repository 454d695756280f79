#include "cli/agents/rejoiner.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "cli/text/exit_status.h"
#include "io/descriptors.h"
#include "io/retry.h"
#include "net/sockets/user_socket.h"

namespace rdcp::cli {

using std::chrono::milliseconds;

namespace {

constexpr const char* kAgent = "the agent";
constexpr milliseconds kFirstPause{500};
constexpr milliseconds kPauseMax{5000};
// An agent that stays answers at once; ssh may take its time.
constexpr std::chrono::seconds kAnswerMax{20};
// A silent agent ends the run within 30 s, of which 25 are over then.
constexpr milliseconds kAfterSilenceMax{3000};
constexpr milliseconds kEndMax{3000};

// ssh ends with 255 when its connection is lost, and else as the agent did, or by a signal.
bool says_that_the_agent_has_ended(std::optional<int> status) {
  constexpr int kOfSsh = 255, kOfSignals = 128;
  return status && *status != kOfSsh && *status < kOfSignals;
}

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return io::retry_eintr([&] { return ::poll(&entry, 1, 0); }) > 0;
}

}  // namespace

void Rejoiner::set_up(std::chrono::seconds patience, Told told) {
  patience_ = patience;
  told_ = std::move(told);
}

// The socket's name goes into a command, so it must be one that this program makes.
std::optional<tree::Stay> Rejoiner::agree(const tree::Hello& hello) {
  if (patience_.count() == 0 || !run_.can_rejoin() || !net::is_user_socket(hello.rejoin_socket)) return {};
  socket_ = hello.rejoin_socket;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience_);
  return tree::Stay{.seconds = static_cast<std::uint32_t>(seconds.count())};
}

bool Rejoiner::begin(const io::Error& lost, std::uint64_t received, milliseconds status_max) {
  const auto status = bridge_ ? bridge_->wait(status_max) : run_.leave_process(status_max);
  bridge_.reset();
  if (says_that_the_agent_has_ended(status)) return false;
  lost_ = lost;
  received_ = received;
  next_ = Clock::now();
  until_ = next_ + patience_;
  pause_ = kFirstPause;
  told_why_ = false;
  return true;
}

bool Rejoiner::begin_after_silence(const io::Error& silence, std::uint64_t received) {
  const bool begun = begin(silence, received, milliseconds(0));
  until_ = std::min(until_, Clock::now() + kAfterSilenceMax);
  return begun;
}

Rejoiner::State Rejoiner::turn() {
  const auto now = Clock::now();
  if (!channel_) {
    if (now >= until_) return State::in_vain;
    if (now >= next_) try_anew();
    return State::trying;
  }
  if (!is_readable(channel_->fd()))
    return now < std::min(until_, begun_ + kAnswerMax) ? State::trying : State::in_vain;
  const auto said = channel_->receive();
  if (!said) return fail();
  if (!*said) return State::trying;
  const auto rejoin = channel_->decode<tree::Rejoin>(**said);
  if (!rejoin) return State::in_vain;
  agent_received_ = rejoin->received;
  return State::joined;
}

// A try that cannot begin here has failed, too.
void Rejoiner::try_anew() {
  begun_ = Clock::now();
  next_ = begun_ + pause_;
  pause_ = std::min(2 * pause_, kPauseMax);
  auto ends = io::make_socket_pair();
  if (!ends) return;
  auto out = io::duplicate(ends->first.get(), kAgent);
  if (!out) return;
  auto bridge = run_.start_rejoin(socket_, std::move(ends->second), std::exchange(told_why_, true));
  if (!bridge) return;
  bridge_ = std::move(*bridge);
  channel_.emplace(std::move(ends->first), std::move(*out), kAgent);
  (void)channel_->send(tree::Rejoin{.received = received_}).ok();  // a failure shows when it is read from
}

// The far end has found nobody there, or ssh did not get so far.
Rejoiner::State Rejoiner::fail() {
  const bool nobody = bridge_->wait(kStatusMax) == kExitConnection;
  channel_.reset();
  bridge_.reset();
  next_ = std::max(next_, Clock::now());
  return nobody ? State::in_vain : State::trying;
}

io::Error Rejoiner::settle(bool joined) {
  channel_.reset();
  if (!joined) bridge_.reset();
  io::Error lost = *std::exchange(lost_, std::nullopt);
  if (joined) told_(lost);
  return lost;
}

void Rejoiner::end(bool by_force) {
  channel_.reset();
  if (bridge_ && !by_force) bridge_->wait(kEndMax);
  bridge_.reset();
}

}  // namespace rdcp::cli
