#include "cli/agents/agent_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "io/descriptors.h"
#include "tree/messages/job.h"
#include "tree/protocol/message_name.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::MessageType;

namespace {

// How long an agent that somebody else has started may take to end the connection.
constexpr std::chrono::milliseconds kGoodbyeGrace{3000};
constexpr const char* kThisHost = "this host";

// True for messages that tell nothing but that the agent is alive.
bool is_sign_of_life(MessageType type) {
  return type == MessageType::beat || type == MessageType::progress || type == MessageType::suspend;
}

}  // namespace

AgentSession::Started AgentSession::start_remote(const RemoteShell& shell, const Location& location,
                                                 const std::string& prefix) {
  std::unique_ptr<AgentSession> session(new AgentSession(location.host));
  auto ends = session->run_.start_remote(shell, location, prefix);
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

Result<void> AgentSession::receive() {
  do {
    auto message = control_->receive();
    if (!message) {
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

void AgentSession::drop_arrived() {
  do {
    gone_ = !control_->receive();
  } while (!gone_ && control_->buffered());
}

io::Error AgentSession::refused(const tree::RawMessage& raw, const std::string& why) const {
  return io::plain_error(ErrorKind::protocol, "control message from", name_,
                         "'" + tree::name_of(raw.type) + "' " + why);
}

// In the hello of another version only the first field is sure to be the same.
Result<void> AgentSession::take_hello(const tree::RawMessage& raw) {
  std::uint32_t protocol = 0;
  const bool same = tree::Decoder(raw.body).get(protocol) && protocol == tree::kProtocolVersion;
  if (!same && run_.can_start_ours()) return start_anew();
  if (!same) {
    return io::plain_error(ErrorKind::unreachable, "talk to rdcp on", name_,
                           "it speaks protocol " + std::to_string(protocol) + ", this one speaks " +
                               std::to_string(tree::kProtocolVersion) + ": install the same version on both");
  }
  auto hello = control_->decode<tree::Hello>(raw);
  if (!hello) return hello.error();
  hello_ = std::move(*hello);
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
  const auto handler = handlers_.find(raw.type);
  if (handler != handlers_.end()) return handler->second(raw);
  return is_sign_of_life(raw.type) ? Result<void>() : Result<void>(refused(raw, "is of no use here"));
}

// The agent has lost a part of what was to be sent, so nothing can be said to it any more.
void AgentSession::note_sent(const Result<void>& sent) {
  if (sent || sent.error().code != ETIMEDOUT) return;
  send_failure_ = sent.error();
  gone_ = true;
}

AgentSession::Clock::duration AgentSession::silence() const {
  const bool excused = gone_ || suspended_ || may_be_silent_;
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
  run_.end_process(by_force);
  if (!run_.is_thread()) return;
  control_.reset();
  run_.join_thread();
}

}  // namespace rdcp::cli
