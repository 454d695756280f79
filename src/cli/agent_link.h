// The coordinator's end of one agent: where it runs, what it has said.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/launch.h"
#include "cli/location.h"
#include "cli/options.h"
#include "io/result.h"
#include "io/thread.h"
#include "tree/agent.h"
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
  // `ssh HOST rdcp --agent` and the like. standard_error: -1 for ours.
  static io::Result<std::unique_ptr<AgentLink>> start_remote(const Options& options, const Location& location,
                                                             int standard_error = -1);
  // A process of this program on this host.
  static io::Result<std::unique_ptr<AgentLink>> start_beside(int standard_error = -1);
  // A thread of this process.
  static io::Result<std::unique_ptr<AgentLink>> start_local(tree::AgentPlace place);
  // An agent that somebody else has started, at the other end of a connection. gone: what to say when it is
  // lost.
  static io::Result<std::unique_ptr<AgentLink>> of_connection(io::Fd socket, const std::string& host,
                                                              const std::string& gone,
                                                              const std::optional<net::SealKeys>& seal = {});
  ~AgentLink() { end(true); }

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
  std::vector<tree::RelayedBytes> relayed;  // not yet delivered
  std::vector<tree::Leftover> leftovers;    // not yet printed
  bool cleaned = false;                     // these were the last
  std::vector<tree::Sums> sums;             // not yet taken, as what follows
  std::vector<tree::Listed> listed;
  std::vector<tree::SumTold> told;
  tree::Progress progress;
  std::vector<tree::Problem> problems;         // not yet printed
  std::vector<tree::Change> changes;           // the same
  std::vector<tree::StreamLost> lost_streams;  // the other side is not told yet
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();
  bool gone = false;
  bool suspended = false;  // by its user, who may take his time

 private:
  AgentLink() = default;
  io::Result<void> take(const tree::RawMessage& raw);
  void say_goodbye();

  std::string name_;
  Location location_;
  std::optional<tree::ControlChannel> control_;
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
