// Coordinates a copy for the user: starts agents, tells them what to do, shows progress, gives the exit
// status.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/agents/agent_link.h"
#include "cli/copy/data_path.h"
#include "cli/options/options.h"
#include "cli/text/progress.h"
#include "cli/text/report.h"
#include "io/fd.h"
#include "net/sockets/address.h"
#include "tree/agent/agent.h"
#include "tree/select/destination_mapping.h"

namespace rdcp::cli {

// Who takes part in a copy, and how they meet.
struct Parties {
  using Start = std::function<io::Result<std::unique_ptr<AgentLink>>()>;
  Start start_source;
  Start start_target;
  tree::Connect source_connects = tree::Connect::connect;
  bool target_is_far = true;  // round trips are measured to it, else to the source
  bool have_key = false;      // both agents know the streams' key, so no job carries one
  // The address to which streams over TCP connect, whatever the listening side reports; port 0 stands for the
  // port that it reports.
  std::optional<net::Address> reached;
  // If set, it is told of problems, and nothing is printed on standard error.
  std::function<void(io::ErrorKind kind, const std::string& text)> tell;
};

class Coordinator {
 public:
  // signal_fd: signalfd(2) of SIGINT, SIGTERM, SIGHUP and SIGTSTP, blocked in every thread.
  // The agents are started where the options' locations say.
  Coordinator(const Options& options, int signal_fd);
  // The agents are started by `parties`; of the locations, only the paths are used.
  Coordinator(const Options& options, int signal_fd, Parties parties);

  // Sets what is called with the digest of each entry that has arrived. To be called before run().
  using HearSum = std::function<void(const tree::SumLine&)>;
  void hear_sums(HearSum hear) { hear_sum_ = std::move(hear); }
  // Does the whole copy. Returns the exit status (exit_status.h).
  int run();
  // Returns, after run(), what was copied, if both agents came to their end.
  const std::optional<Summary>& outcome() const { return outcome_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool start_agents();
  bool send_jobs();
  void send_names();
  bool send_jobs(const tree::StreamWish& wish);
  bool begin();
  void measure_round_trip();
  tree::CopySettings settings() const;
  Parties parties_of_locations();
  // True if what goes over the network is compressed or encrypted.
  bool wraps() const;
  io::Result<DataPath> choose_path(bool in_order) const;
  Summary summary() const;
  void abort_agents();

  // Runs the event loop until `done` holds. Returns false if the run is over before; this has been reported.
  bool turn_until(const std::function<bool()>& done);
  bool turn(std::chrono::milliseconds max_wait);
  bool silent(const AgentLink& link);
  void take_signal();
  void take_problems(AgentLink& link);
  void take_changes(AgentLink& link);
  void pass_on_losses(AgentLink& link, AgentLink* other);
  void print_lines(std::string_view lines);
  bool lost(AgentLink& link, const io::Error& error);
  void send_beats();
  void show_progress();
  void fail(const io::Error& error);
  void print(const std::string& text);
  bool all_links(bool (*holds)(const AgentLink&)) const;

  const Options options_;
  const int signal_fd_;
  tree::LocalStreams local_streams_;
  const Parties parties_;
  std::unique_ptr<AgentLink> source_;
  std::unique_ptr<AgentLink> target_;
  const bool has_terminal_;  // there is one on which ssh could ask for a password
  Progress progress_;
  int status_ = 0;  // the worst so far; a signal's is final
  bool interrupted_ = false;
  bool run_ended_ = false;  // by a problem that ends the run
  bool goes_on_ = false;    // resumes an earlier run, so it compares first
  bool doubts_ = false;     // compares contents, since the earlier run's writes may not be on the disk
  Clock::time_point pinged_;
  Clock::duration round_trip_ = Clock::duration::max();
  unsigned pings_ = 0;
  Clock::time_point begun_;
  Clock::time_point next_beat_;
  DataPath path_;
  HearSum hear_sum_;
  std::optional<Summary> outcome_;
};

}  // namespace rdcp::cli
