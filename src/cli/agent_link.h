// The coordinator's end of one agent: where it runs, what it has said.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/inbox.h"
#include "cli/launch.h"
#include "cli/line_pipe.h"
#include "cli/location.h"
#include "cli/options.h"
#include "io/result.h"
#include "io/thread.h"
#include "tree/agent.h"
#include "tree/answers.h"
#include "tree/changes.h"
#include "tree/check_job.h"
#include "tree/clean.h"
#include "tree/control.h"
#include "tree/finding.h"
#include "tree/job.h"
#include "tree/measure.h"
#include "tree/segment_job.h"
#include "tree/stream_table.h"
#include "tree/sums.h"

namespace rdcp::cli {

// Started by start_remote() or start_local(); ended by end(). One thread.
class AgentLink {
 public:
  // `ssh HOST rdcp --agent` and the like. prefix: what stands before each line that ssh, or something there,
  // writes on standard error; empty: "HOST: ssh: ".
  static io::Result<std::unique_ptr<AgentLink>> start_remote(const Options& options, const Location& location,
                                                             const std::string& prefix = {});
  // A process of this program on this host. prefix: the same; empty: its standard error is ours.
  static io::Result<std::unique_ptr<AgentLink>> start_beside(const std::string& prefix = {});
  // A thread of this process.
  static io::Result<std::unique_ptr<AgentLink>> start_local(tree::AgentPlace place);
  // An agent that somebody else has started, at the other end of a connection. gone: what to say when it is
  // lost.
  static io::Result<std::unique_ptr<AgentLink>> of_connection(io::Fd socket, const std::string& host,
                                                              const std::string& gone,
                                                              const std::optional<net::SealKeys>& seal = {});
  ~AgentLink() { end(true); }

  // Whatever asks something of it goes this way: nothing else that it says is taken. Who is gone shows when
  // it is read from.
  template <class Message>
  void tell(const Message& message) {
    answers_.ordered(Message::kType, answers_to(message));
    (void)control_->send(message).ok();
  }
  // For what is polled, closed and relayed.
  tree::ControlChannel& control() { return *control_; }
  bool remote() const { return process_.pid > 0 || ended_remote_ || connected_; }
  // "HOST" or "this host".
  const std::string& name() const { return name_; }
  // What stands before its problems: its user has started it alone, so "standard output" is not ours.
  std::string problem_prefix() const { return connected_ ? name_ + ": " : std::string(); }

  // Reads what has arrived, into the fields below. Error: the agent is gone or makes no sense.
  io::Result<void> receive();
  // Why it is gone before it said hello.
  io::Error explain(const Options& options, const io::Error& error);
  // A remote agent's process has ended by itself.
  bool has_ended();
  // Ends the agent: by force where it does not end by itself in time. Idempotent.
  void end(bool by_force);

  // What the agent has said so far.
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
  bool cleaned = false;               // these were the last
  Inbox<tree::Sums> sums;             // not yet taken, as what follows
  Inbox<tree::Listed> listed;
  Inbox<tree::SumTold> told;
  tree::Progress progress;
  Inbox<tree::Problem> problems;         // not yet printed
  Inbox<tree::Change> changes;           // the same
  Inbox<tree::StreamLost> lost_streams;  // the other side is not told yet
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
  bool gone = false;
  bool suspended = false;  // by its user, who may take his time

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
  std::unique_ptr<LinePipe> lines_;  // what the process says on standard error
  AgentProcess process_;
  io::Thread thread_;
  bool ended_remote_ = false;
  std::size_t losses_ = 0;  // told so far
  bool connected_ = false;  // by a socket, which is all that is known of the agent
  std::string gone_;
};

// True where there is a terminal on which ssh could ask for a password.
bool has_terminal();

// How long an agent may give no sign of life. Before its hello somebody may still be typing a password, if
// there is a terminal to type it on.
std::chrono::seconds silence_max(const AgentLink& link, bool has_terminal);

}  // namespace rdcp::cli
