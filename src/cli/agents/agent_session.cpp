#include "cli/agents/agent_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "io/descriptors.h"
#include "tree/messages/job.h"
#include "tree/protocol/hello_reader.h"
#include "tree/protocol/message_name.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::MessageType;

namespace {

// How long an agent that somebody else has started may take to end the connection.
constexpr std::chrono::milliseconds kGoodbyeGrace{3000};
constexpr const char* kThisHost = "this host";
// An agent tells no more than this of pairs of ports, which it tries for each stream again and again, and of
// how many streams it is to have.
constexpr std::size_t kStreamMessagesMax = 1 << 16;

// True for messages that tell nothing but that the agent is alive.
bool is_sign_of_life(MessageType type) {
  return type == MessageType::beat || type == MessageType::progress || type == MessageType::suspend;
}

}  // namespace

AgentSession::Started AgentSession::start_remote(const RemoteShell& shell, const Location& location,
                                                 const std::string& prefix) {
  std::unique_ptr<AgentSession> session(new AgentSession(location.host));
  RemoteShell own = shell;
  if (!location.rdcp_path.empty()) own.rdcp_path = location.rdcp_path;
  auto ends = session->run_.start_remote(own, location, prefix);
  if (!ends) return ends.error();
  session->connect(std::move(*ends));
  return session;
}

AgentSession::Started AgentSession::start_beside(const std::string& prefix, bool landlock) {
  std::unique_ptr<AgentSession> session(new AgentSession(kThisHost));
  auto ends = session->run_.start_beside(prefix, landlock);
  if (!ends) return ends.error();
  session->connect(std::move(*ends));
  return session;
}

AgentSession::Started AgentSession::start_local(tree::AgentConfig config) {
  std::unique_ptr<AgentSession> session(new AgentSession(kThisHost));
  auto ends = session->run_.start_local(std::move(config));
  if (!ends) return ends.error();
  session->connect(std::move(*ends));
  return session;
}

AgentSession::Started AgentSession::start_thread(tree::AgentConfig config) {
  std::unique_ptr<AgentSession> session(new AgentSession(kThisHost));
  auto ends = session->run_.start_thread(std::move(config));
  if (!ends) return ends.error();
  session->connect(std::move(*ends));
  return session;
}

AgentSession::Started AgentSession::of_connection(io::Fd socket, const std::string& host,
                                                  const std::string& gone,
                                                  const std::optional<net::SealKeys>& seal) {
  std::unique_ptr<AgentSession> session(new AgentSession(host));
  session->gone_because_ = gone;
  auto out = io::duplicate(socket.get(), host);
  if (!out) return out.error();
  session->connect({std::move(socket), std::move(*out)}, seal);
  return session;
}

void AgentSession::connect(AgentRun::Ends ends, const std::optional<net::SealKeys>& seal) {
  control_.emplace(std::move(ends.in), std::move(ends.out), name_, seal);
  control_->limit_sends(tree::kSilenceMax);
  if (run_.can_rejoin()) control_->keep_unacknowledged();
  if (!run_.is_program()) return;
  control_->take_lines_before_greeting([this](std::string_view line) {
    auto answered = run_.answer_ask(line, control_->out_fd());
    if (!answered) not_put_ = answered.error();
    return answered;
  });
}

Result<void> AgentSession::start_anew() {
  auto ends = run_.start_ours();
  if (!ends) return ends.error();
  answers_ = {};
  connect(std::move(*ends));
  heard_ = Clock::now();
  return {};
}

bool AgentSession::outlast_loss(const io::Error& lost, bool silent) {
  const bool can = lost.kind == ErrorKind::connection && !away() && !may_be_silent_ && control_->can_go_on();
  if (!can) return false;
  control_->lose_connection();
  const std::uint64_t received = control_->received();
  return silent ? rejoiner_.begin_after_silence(lost, received) : rejoiner_.begin(lost, received, kStatusMax);
}

Result<void> AgentSession::try_to_rejoin() {
  const Rejoiner::State state = rejoiner_.turn();
  if (state == Rejoiner::State::trying) return {};
  const bool joined = state == Rejoiner::State::joined &&
                      control_->go_on_over(rejoiner_.channel(), rejoiner_.agent_received()).ok();
  const io::Error lost = rejoiner_.settle(joined);
  heard_ = Clock::now();
  gone_ = !joined;
  if (!joined) return lost;
  return control_->buffered() ? receive() : Result<void>();
}

Result<void> AgentSession::receive() {
  if (away()) return {};  // try_to_rejoin() reads
  do {
    auto message = control_->receive();
    if (!message) {
      if (outlast_loss(message.error(), false)) return {};
      gone_ = true;
      return message.error();
    }
    if (*message) {
      heard_ = Clock::now();
      if (auto taken = take(**message); !taken) {
        gone_ = true;
        return taken;
      }
    }
  } while (control_->buffered());
  return {};
}

void AgentSession::hear_last_words() {
  const auto heard = [this]() -> Result<void> {
    const auto message = control_->receive();
    if (!message) return message.error();
    const bool counts = *message && (*message)->type == MessageType::ledger;
    return counts ? take(**message) : Result<void>();
  };
  do {
    gone_ = away() || !heard();
  } while (!gone_ && control_->buffered());
}

io::Error AgentSession::refused(const tree::RawMessage& raw, const std::string& why) const {
  return io::plain_error(ErrorKind::protocol, "control message from", name_,
                         "'" + tree::name_of(raw.type) + "' " + why);
}

Result<void> AgentSession::take_hello(const tree::RawMessage& raw) {
  tree::HelloRead read = tree::read_hello(raw.body);
  if (read.protocol == 0) return refused(raw, "makes no sense");
  if (!read.hello && run_.can_start_ours()) return start_anew();
  if (!read.hello) {
    return io::plain_error(ErrorKind::unreachable, "talk to rdcp on", name_,
                           "it speaks protocol " + std::to_string(read.protocol) + ", this one speaks " +
                               std::to_string(tree::kOldestProtocol) + " to " +
                               std::to_string(tree::kProtocolVersion) + ": install the same version on both");
  }
  hello_ = std::move(*read.hello);
  if (const auto stay = rejoiner_.agree(*hello_)) {
    control_->outlast_connection();
    tell(*stay);
  } else {
    control_->keep_none();
  }
  if (explains_problems_ && hello_->protocol >= tree::ExplainProblems::kFirstProtocol) {
    tell(tree::ExplainProblems());
  }
  return {};
}

Result<void> AgentSession::take(const tree::RawMessage& raw) {
  if (!answers_.take(raw.type)) return refused(raw, "was not asked for");
  if (raw.type == MessageType::hello) return take_hello(raw);
  if (raw.type == MessageType::suspend) suspended_ = true;
  if (raw.type == MessageType::progress) suspended_ = false;
  // Each lost stream has a number of its own.
  if (raw.type == MessageType::stream_lost && ++losses_ > tree::kStreamNumbersMax) {
    return refused(raw, "reports more lost streams than there can be");
  }
  const bool of_streams = raw.type == MessageType::pair_offered || raw.type == MessageType::pair_answered ||
                          raw.type == MessageType::use_streams;
  if (of_streams && ++stream_messages_ > kStreamMessagesMax) {
    return refused(raw, "comes more often than streams can be made");
  }
  if (handlers_.has(raw.type)) return handlers_.take(*control_, raw);
  return is_sign_of_life(raw.type) ? Result<void>() : Result<void>(refused(raw, "is of no use here"));
}

// The agent has lost a part of what was to be sent, so nothing can be said to it any more.
void AgentSession::note_sent(const Result<void>& sent) {
  if (sent || sent.error().code != ETIMEDOUT) return;
  send_failure_ = sent.error();
  gone_ = true;
}

std::string AgentSession::host_elsewhere() const {
  return name_ == kThisHost ? std::string() : name_;
}

std::string AgentSession::problem_prefix() const {
  return name_ == kThisHost ? std::string() : name_ + ": ";
}

AgentSession::Clock::duration AgentSession::silence() const {
  const bool excused = gone_ || away() || suspended_ || may_be_silent_;
  return excused ? Clock::duration::zero()
                 : Clock::now() - std::max(heard_, run_.delivered().value_or(heard_));
}

io::Error AgentSession::explain(const io::Error& error) {
  if (gone_because_ && error.kind == ErrorKind::connection) {
    return io::plain_error(ErrorKind::connection, "send to", name_, *gone_because_);
  }
  if (not_put_) return *not_put_;
  if (!run_.is_program() || control_->greeted()) return error;
  const std::string noise = control_->received_noise();
  control_->close_out();
  return run_.explain(noise);
}

// Closing a socket from which not all has been read discards what it sent last. So that the other side surely
// gets our last message, this waits (for a while) until the other side ends the connection.
void AgentSession::say_goodbye() {
  ::shutdown(control_->fd(), SHUT_WR);
  const auto until = std::chrono::steady_clock::now() + kGoodbyeGrace;
  while (control_->wait(until)) {
  }
}

void AgentSession::end(bool by_force) {
  if (control_ && gone_because_ && !by_force) say_goodbye();
  if (control_) control_->close_out();
  rejoiner_.end(by_force);
  run_.end_process(by_force);
  if (!run_.is_thread()) return;
  control_.reset();
  run_.join_thread();
}

}  // namespace rdcp::cli
