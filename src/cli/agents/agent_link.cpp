#include "cli/agents/agent_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/agents/agent_command.h"
#include "cli/text/version.h"
#include "io/descriptors.h"
#include "tree/protocol/message_name.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::MessageType;

namespace {

// How long an agent may take to end after it was told to finish, or has lost us.
constexpr std::chrono::milliseconds kFinishGrace{3000};

}  // namespace

Result<std::unique_ptr<AgentLink>> AgentLink::start_remote(const Options& options, const Location& location,
                                                           const std::string& prefix) {
  std::unique_ptr<AgentLink> link(new AgentLink);
  link->name_ = location.host;
  link->location_ = location;
  const std::string by_default = location.host + (runs_ssh(options) ? ": ssh: " : ": ");
  auto launched = link->launch(agent_command(options, location), prefix.empty() ? by_default : prefix);
  if (!launched) return launched.error();
  return link;
}

Result<std::unique_ptr<AgentLink>> AgentLink::start_beside(const std::string& prefix) {
  std::unique_ptr<AgentLink> link(new AgentLink);
  link->name_ = "this host";
  auto launched = link->launch({"/proc/self/exe", "--agent"}, prefix);
  if (!launched) return launched.error();
  return link;
}

Result<void> AgentLink::launch(const std::vector<std::string>& command, const std::string& prefix) {
  if (!prefix.empty()) {
    auto lines = LinePipe::start(prefix);
    if (!lines) return lines.error();
    lines_ = std::move(*lines);
  }
  auto process = launch_agent(command, lines_ ? lines_->fd() : -1);
  if (!process) return process.error();
  if (lines_) lines_->let_go();
  process_ = std::move(*process);
  control_.emplace(std::move(process_.from), std::move(process_.to), name_);
  return {};
}

Result<std::unique_ptr<AgentLink>> AgentLink::start_local(tree::AgentConfig place) {
  std::unique_ptr<AgentLink> link(new AgentLink);
  auto ends = io::make_socket_pair();
  if (!ends) return ends.error();
  auto our_out = io::duplicate(ends->first.get(), "the local agent");
  if (!our_out) return our_out.error();
  auto its_out = io::duplicate(ends->second.get(), "the local agent");
  if (!its_out) return its_out.error();
  link->name_ = "this host";
  link->control_.emplace(std::move(ends->first), std::move(*our_out), link->name_);
  place.program_version = kVersion;
  auto thread = io::Thread::start("the local agent", [in = std::move(ends->second), out = std::move(*its_out),
                                                      place = std::move(place)]() mutable {
    tree::run_agent(std::move(in), std::move(out), place);
  });
  if (!thread) return thread.error();
  link->thread_ = std::move(*thread);
  return link;
}

Result<std::unique_ptr<AgentLink>> AgentLink::of_connection(io::Fd socket, const std::string& host,
                                                            const std::string& gone,
                                                            const std::optional<net::SealKeys>& seal) {
  std::unique_ptr<AgentLink> link(new AgentLink);
  link->name_ = host;
  link->gone_ = gone;
  link->connected_ = true;
  auto out = io::duplicate(socket.get(), host);
  if (!out) return out.error();
  link->control_.emplace(std::move(socket), std::move(*out), host, seal);
  return link;
}

Result<void> AgentLink::receive() {
  do {
    auto message = control_->receive();
    if (!message) {
      gone = true;
      return message.error();
    }
    if (*message) {
      heard = std::chrono::steady_clock::now();
      auto taken = take(**message);
      if (!taken) return taken;
    }
  } while (control_->buffered());
  return {};
}

io::Error AgentLink::refused(const tree::RawMessage& raw, const std::string& why) const {
  return io::plain_error(ErrorKind::protocol, "control message from", name_,
                         "'" + tree::name_of(raw.type) + "' " + why);
}

template <class Message>
Result<void> AgentLink::store(const tree::RawMessage& raw, std::optional<Message>& into) {
  auto message = control_->decode<Message>(raw);
  if (!message) return message.error();
  into = std::move(*message);
  return {};
}

template <class Message, class Item>
Result<void> AgentLink::append(const tree::RawMessage& raw, Inbox<Item>& to,
                               std::vector<Item> Message::*items) {
  auto message = control_->decode<Message>(raw);
  if (!message) return message.error();
  if (to.add(std::move((*message).*items), raw.body.size())) return {};
  return refused(raw, "comes faster than it can be taken");
}

template <class Message>
Result<void> AgentLink::append(const tree::RawMessage& raw, Inbox<Message>& to) {
  auto message = control_->decode<Message>(raw);
  if (!message) return message.error();
  std::vector<Message> one;
  one.push_back(std::move(*message));
  if (to.add(std::move(one), raw.body.size())) return {};
  return refused(raw, "comes faster than it can be taken");
}

// In the hello of another version only the first field is sure to be the same.
Result<void> AgentLink::take_hello(const tree::RawMessage& raw) {
  std::uint32_t protocol = 0;
  if (tree::Decoder(raw.body).get(protocol) && protocol == tree::kProtocolVersion) return store(raw, hello);
  return io::plain_error(ErrorKind::unreachable, "talk to rdcp on", name_,
                         "it speaks protocol " + std::to_string(protocol) + ", this one speaks " +
                             std::to_string(tree::kProtocolVersion) + ": install the same version on both");
}

Result<void> AgentLink::take(const tree::RawMessage& raw) {
  if (!answers_.take(raw.type)) return refused(raw, "was not asked for");
  switch (raw.type) {
    case MessageType::hello:
      return take_hello(raw);
    case MessageType::pong:
      ++pongs;
      return {};
    case MessageType::source_ready:
      return store(raw, source_ready);
    case MessageType::target_ready:
      return store(raw, target_ready);
    case MessageType::done:
      return store(raw, done);
    case MessageType::measure_ready:
      return store(raw, measure_ready);
    case MessageType::measured:
      return store(raw, measured);
    case MessageType::findings:
      return store(raw, findings);
    case MessageType::segment_end:
      return store(raw, segment_end);
    case MessageType::relayed_bytes:
      return append(raw, relayed);
    case MessageType::sums:
      return append(raw, sums);
    case MessageType::listed:
      return append(raw, listed);
    case MessageType::sum_told:
      return append(raw, told);
    case MessageType::leftovers: {
      auto message = control_->decode<tree::Leftovers>(raw);
      if (message) cleaned = message->last;
      return append(raw, leftovers, &tree::Leftovers::found);
    }
    case MessageType::suspend:
      suspended = true;
      return {};
    case MessageType::progress: {
      auto message = control_->decode<tree::Progress>(raw);
      if (!message) return message.error();
      progress = std::move(*message);
      suspended = false;
      return {};
    }
    case MessageType::changes:
      return append(raw, changes, &tree::Changes::list);
    case MessageType::problem:
      return append(raw, problems);
    case MessageType::stream_lost:
      // Each lost stream has a number of its own.
      if (++losses_ > tree::kStreamNumbersMax) {
        return refused(raw, "reports more lost streams than there can be");
      }
      return append(raw, lost_streams);
    default:  // a segment's beat, for which `heard` was set
      return {};
  }
}

io::Error AgentLink::explain(const Options& options, const io::Error& error) {
  if (connected_ && error.kind == ErrorKind::connection) {
    return io::plain_error(ErrorKind::connection, "send to", name_, gone_);
  }
  if (connected_ || !remote() || control_->greeted()) return error;
  const std::string noise = control_->received_noise();
  control_->close_out();
  std::optional<int> status;
  if (process_.pid > 0) {
    status = wait_agent(process_.pid, noise.empty() ? kFinishGrace : std::chrono::milliseconds(0));
    if (status) {
      process_.pid = -1;
      ended_remote_ = true;
    }
  }
  if (lines_) lines_->finish();  // its standard error is printed first
  return explain_launch_failure(options, location_, status, noise);
}

// Closing a socket from which not all has been read discards what it sent last. So that the other side surely
// gets our last message, this waits (for a while) until the other side ends the connection.
void AgentLink::say_goodbye() {
  ::shutdown(control_->fd(), SHUT_WR);
  const auto until = std::chrono::steady_clock::now() + kFinishGrace;
  while (control_->wait(until)) {
  }
}

bool AgentLink::has_ended() {
  if (process_.pid <= 0) return true;
  if (!wait_agent(process_.pid, std::chrono::milliseconds(0))) return false;
  process_.pid = -1;
  ended_remote_ = true;
  return true;
}

void AgentLink::end(bool by_force) {
  if (control_ && connected_ && !by_force) say_goodbye();
  if (control_) control_->close_out();
  if (process_.pid > 0) {
    if (!by_force && wait_agent(process_.pid, kFinishGrace)) {
      process_.pid = -1;
    } else {
      end_agent(process_.pid);
      process_.pid = -1;
    }
    ended_remote_ = true;
  }
  if (lines_) lines_->finish(by_force);
  if (thread_.joinable()) {
    // The agent sees that our side of the pair is closed, and ends within a time that it bounds itself.
    control_.reset();
    thread_.join();
  }
}

bool has_terminal() {
  return io::Fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)).get() >= 0;
}

std::chrono::seconds silence_max(const AgentLink& link, bool has_terminal) {
  constexpr std::chrono::seconds kHelloMax{60};
  constexpr std::chrono::seconds kPasswordMax{180};
  if (link.hello) return tree::kSilenceMax;
  return has_terminal ? kPasswordMax : kHelloMax;
}

}  // namespace rdcp::cli
