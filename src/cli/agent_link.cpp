#include "cli/agent_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>

#include "cli/agent_command.h"
#include "cli/version.h"
#include "io/descriptors.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;
using tree::MessageType;

namespace {

// How long an agent that was told to finish, or has lost us, may take.
constexpr std::chrono::milliseconds kFinishGrace{3000};

template <class Message>
Result<void> store(const tree::ControlChannel& control, const tree::RawMessage& raw,
                   std::optional<Message>& into) {
  auto message = control.decode<Message>(raw);
  if (!message) return message.error();
  into = std::move(*message);
  return {};
}

template <class Message>
Result<void> append(const tree::ControlChannel& control, const tree::RawMessage& raw,
                    std::vector<Message>& to) {
  auto message = control.decode<Message>(raw);
  if (!message) return message.error();
  to.push_back(std::move(*message));
  return {};
}

}  // namespace

Result<std::unique_ptr<AgentLink>> AgentLink::start_remote(const Options& options, const Location& location,
                                                           int standard_error) {
  std::unique_ptr<AgentLink> link(new AgentLink);
  auto process = launch_agent(agent_command(options, location), standard_error);
  if (!process) return process.error();
  link->name_ = location.host;
  link->location_ = location;
  link->process_ = std::move(*process);
  link->control_.emplace(std::move(link->process_.from), std::move(link->process_.to), link->name_);
  return link;
}

Result<std::unique_ptr<AgentLink>> AgentLink::start_beside(int standard_error) {
  std::unique_ptr<AgentLink> link(new AgentLink);
  auto process = launch_agent({"/proc/self/exe", "--agent"}, standard_error);
  if (!process) return process.error();
  link->name_ = "this host";
  link->process_ = std::move(*process);
  link->control_.emplace(std::move(link->process_.from), std::move(link->process_.to), link->name_);
  return link;
}

Result<std::unique_ptr<AgentLink>> AgentLink::start_local(tree::AgentPlace place) {
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

Result<void> AgentLink::take(const tree::RawMessage& raw) {
  switch (raw.type) {
    case MessageType::hello: {
      // Of another version's hello only the first field is sure.
      std::uint32_t protocol = 0;
      if (!tree::Decoder(raw.body).get(protocol) || protocol != tree::kProtocolVersion) {
        return io::plain_error(ErrorKind::unreachable, "talk to rdcp on", name_,
                               "it speaks protocol " + std::to_string(protocol) + ", this one speaks " +
                                   std::to_string(tree::kProtocolVersion) +
                                   ": install the same version on both");
      }
      return store(*control_, raw, hello);
    }
    case MessageType::pong:
      ++pongs;
      return {};
    case MessageType::source_ready:
      return store(*control_, raw, source_ready);
    case MessageType::target_ready:
      return store(*control_, raw, target_ready);
    case MessageType::done:
      return store(*control_, raw, done);
    case MessageType::measure_ready:
      return store(*control_, raw, measure_ready);
    case MessageType::measured:
      return store(*control_, raw, measured);
    case MessageType::findings:
      return store(*control_, raw, findings);
    case MessageType::segment_end:
      return store(*control_, raw, segment_end);
    case MessageType::relayed_bytes:
      return append(*control_, raw, relayed);
    case MessageType::sums:
      return append(*control_, raw, sums);
    case MessageType::listed:
      return append(*control_, raw, listed);
    case MessageType::sum_told:
      return append(*control_, raw, told);
    case MessageType::leftovers: {
      auto message = control_->decode<tree::Leftovers>(raw);
      if (!message) return message.error();
      cleaned = message->last;
      leftovers.insert(leftovers.end(), message->found.begin(), message->found.end());
      return {};
    }
    case MessageType::beat:
      return {};
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
    case MessageType::changes: {
      auto message = control_->decode<tree::Changes>(raw);
      if (!message) return message.error();
      changes.insert(changes.end(), std::move_iterator(message->list.begin()),
                     std::move_iterator(message->list.end()));
      return {};
    }
    case MessageType::problem:
      return append(*control_, raw, problems);
    case MessageType::stream_lost:
      // Each has a number of its own.
      if (++losses_ > tree::StreamTable::kStreamNumbersMax) {
        return io::plain_error(ErrorKind::protocol, "control message from", name_,
                               "tells more losses than there can be streams");
      }
      return append(*control_, raw, lost_streams);
    default:
      return io::plain_error(ErrorKind::protocol, "control message from", name_, "is of a kind unknown here");
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
  return explain_launch_failure(options, location_, status, noise);
}

// A socket that is closed while something waits in it to be read takes back what it sent last; so that the
// other side surely has our last word, its end of the connection is waited for.
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
  if (thread_.joinable()) {
    // The agent bounds its own end; it sees our side of the pair closed.
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
