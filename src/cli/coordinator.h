// The process that the user started: starts agents, tells them what to do, shows progress, gives the exit
// status.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/agent_link.h"
#include "cli/data_path.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "io/fd.h"
#include "net/address.h"
#include "tree/agent.h"
#include "tree/landing.h"

namespace rdcp::cli {

// Who takes part in a copy, and how they meet.
struct Parties {
  using Start = std::function<io::Result<std::unique_ptr<AgentLink>>()>;
  Start start_source;
  Start start_target;
  tree::Connect source_connects = tree::Connect::connect;
  bool target_is_far = true;  // round trips are measured to it, else to the source
  bool have_key = false;      // both agents know the streams' key, so no job carries one
  // Where streams over TCP go, whatever the listening side says of itself; port 0: the one it says.
  std::optional<net::Address> reached;
  // Hears of what goes wrong, instead of standard error.
  std::function<void(io::ErrorKind kind, const std::string& text)> tell;
};

class Coordinator {
 public:
  // signal_fd: signalfd(2) of SIGINT, SIGTERM, SIGHUP and SIGTSTP, blocked in every thread.
  // The agents are started where the options' locations say.
  Coordinator(const Options& options, int signal_fd);
  // The agents are started by others; of the locations, only the paths are used.
  Coordinator(const Options& options, int signal_fd, Parties parties);

  // Before run(): hears of all that has arrived.
  using HearSum = std::function<void(const tree::SumLine&)>;
  void hear_sums(HearSum hear) { hear_sum_ = std::move(hear); }
  // The whole copy. The exit status (exit_status.h).
  int run();
  // After run(): what was copied, if both agents came to their end.
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
  // True when what goes over the network is compressed or encrypted.
  bool wraps() const;
  io::Result<DataPath> choose_path(bool in_order) const;
  Summary summary() const;
  void abort_agents();

  // Turns the event loop until `done` holds. False: the run is over before (reported).
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
  const bool has_terminal_;  // on which ssh could ask for a password
  Progress progress_;
  int status_ = 0;  // the worst so far; a signal's is final
  bool interrupted_ = false;
  bool run_ended_ = false;  // by a problem that ends it
  bool goes_on_ = false;    // with what an earlier run has begun: compares first
  bool doubts_ = false;     // and by content, since what it wrote may not have reached the disk
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
