// The coordinator's end of its connection to one agent: where the agent runs, and what it has said.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/agents/inbox.h"
#include "cli/agents/launch.h"
#include "cli/options/location.h"
#include "cli/options/options.h"
#include "cli/text/line_pipe.h"
#include "io/result.h"
#include "io/thread.h"
#include "tree/agent/agent.h"
#include "tree/guards/answers.h"
#include "tree/messages/changes.h"
#include "tree/messages/check_job.h"
#include "tree/messages/clean_job.h"
#include "tree/messages/finding.h"
#include "tree/messages/job.h"
#include "tree/messages/measure_job.h"
#include "tree/messages/segment_job.h"
#include "tree/messages/sum_line.h"
#include "tree/protocol/control.h"

namespace rdcp::cli {

// Made by one of the four functions below, ended by end(). Not thread-safe.
class AgentLink {
 public:
  // Starts an agent on another host by `ssh HOST rdcp --agent` or the like. prefix is put before each line
  // that ssh, or something on that host, writes to standard error; if empty, it is "HOST: ssh: ", or "HOST: "
  // where --rsh is not ssh.
  static io::Result<std::unique_ptr<AgentLink>> start_remote(const Options& options, const Location& location,
                                                             const std::string& prefix = {});
  // Starts an agent as another process of this program on this host. prefix: as above; if empty, the agent
  // has our standard error.
  static io::Result<std::unique_ptr<AgentLink>> start_beside(const std::string& prefix = {});
  // Starts an agent as a thread of this process.
  static io::Result<std::unique_ptr<AgentLink>> start_local(tree::AgentConfig place);
  // Takes over a connection to an agent that somebody else has started. gone: the cause that errors give when
  // the connection is lost.
  static io::Result<std::unique_ptr<AgentLink>> of_connection(io::Fd socket, const std::string& host,
                                                              const std::string& gone,
                                                              const std::optional<net::SealKeys>& seal = {});
  ~AgentLink() { end(true); }

  // Sends a message, and notes which answers it permits: receive() accepts no others. An agent that is gone
  // shows only when it is read from.
  template <class Message>
  void tell(const Message& message) {
    answers_.ordered(Message::kType, answers_to(message));
    (void)control_->send(message).ok();
  }
  // The control channel, to poll, close and relay it.
  tree::ControlChannel& control() { return *control_; }
  bool remote() const { return process_.pid > 0 || ended_remote_ || connected_; }
  // "HOST" or "this host".
  const std::string& name() const { return name_; }
  // Returns the prefix of the agent's problems. An agent that somebody else has started needs one, because
  // its "standard output" is not ours.
  std::string problem_prefix() const { return connected_ ? name_ + ": " : std::string(); }

  // Reads what has arrived into the fields below. Error: the agent is gone, or what it says makes no sense.
  io::Result<void> receive();
  // Explains the error of receive(). If the agent is gone before its hello, its exit status and output tell
  // why; its process is waited for then, at most 3 s.
  io::Error explain(const Options& options, const io::Error& error);
  // True if the agent has no process, or its process has ended by itself.
  bool has_ended();
  // Ends the agent; its process by SIGTERM and SIGKILL if by_force or if it does not end by itself in time.
  // Idempotent.
  void end(bool by_force);

  // The messages that the agent has sent so far.
  std::optional<tree::Hello> hello;
  unsigned pongs = 0;
  std::optional<tree::SourceReady> source_ready;
  std::optional<tree::TargetReady> target_ready;
  std::optional<tree::Done> done;
  std::optional<tree::MeasureReady> measure_ready;
  std::optional<tree::Measured> measured;
  std::optional<tree::Findings> findings;
  std::optional<tree::SegmentEnd> segment_end;
  Inbox<tree::RelayedBytes> relayed;  // not yet delivered
  Inbox<tree::Leftover> leftovers;    // not yet printed
  bool cleaned = false;               // the last leftovers have come
  Inbox<tree::Sums> sums;             // not yet taken, like the next two
  Inbox<tree::Listed> listed;
  Inbox<tree::SumTold> told;
  tree::Progress progress;
  Inbox<tree::Problem> problems;         // not yet printed
  Inbox<tree::Change> changes;           // not yet printed
  Inbox<tree::StreamLost> lost_streams;  // not yet passed on to the other side
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
  bool gone = false;
  bool suspended = false;  // stopped by its user, so it may be silent

 private:
  AgentLink() = default;
  io::Result<void> launch(const std::vector<std::string>& command, const std::string& prefix);
  io::Result<void> take(const tree::RawMessage& raw);
  io::Result<void> take_hello(const tree::RawMessage& raw);
  template <class Message>
  io::Result<void> store(const tree::RawMessage& raw, std::optional<Message>& into);
  template <class Message, class Item>
  io::Result<void> append(const tree::RawMessage& raw, Inbox<Item>& to, std::vector<Item> Message::*items);
  template <class Message>
  io::Result<void> append(const tree::RawMessage& raw, Inbox<Message>& to);
  io::Error refused(const tree::RawMessage& raw, const std::string& why) const;
  template <class Message>
  static std::uint64_t answers_to(const Message&) {
    return 1;
  }
  static std::uint64_t answers_to(const tree::ListMore& more) { return more.pages; }
  void say_goodbye();

  std::string name_;
  Location location_;
  std::optional<tree::ControlChannel> control_;
  tree::Answers answers_;
  std::unique_ptr<LinePipe> lines_;  // prints the process's standard error
  AgentProcess process_;
  io::Thread thread_;
  bool ended_remote_ = false;
  std::size_t losses_ = 0;  // lost streams that it has reported so far
  bool connected_ = false;  // made by of_connection()
  std::string gone_;
};

// True if there is a terminal on which ssh could ask for a password.
bool has_terminal();

// Returns how long an agent may give no sign of life. It is longer before the agent's hello, most of all if
// there is a terminal, on which somebody may still be typing a password.
std::chrono::seconds silence_max(const AgentLink& link, bool has_terminal);

}  // namespace rdcp::cli
