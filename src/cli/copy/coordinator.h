// Coordinates a copy: starts agents, tells them what to do, shows progress, gives the exit status.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cli/agents/session_loop.h"
#include "cli/copy/copy_console.h"
#include "cli/copy/copy_request.h"
#include "cli/copy/copy_sides.h"
#include "cli/copy/meeting.h"
#include "cli/copy/target_chain.h"
#include "cli/layout/data_path.h"
#include "cli/text/report.h"

namespace rdcp::cli {

// One source and its targets. Several targets are a chain, in the order of the parties. One that is lost
// before the chain has begun is left out of it. Afterwards the run ends, because the chain is broken there,
// and hosts() says who is to take part in another one.
class Coordinator final : public SessionUser {
 public:
  // signal_fd: signalfd(2) of SIGINT, SIGTERM, SIGHUP and SIGTSTP, blocked in every thread.
  Coordinator(CopyRequest request, int signal_fd);

  // Does the whole copy. Returns the exit status (exit_status.h).
  int run();
  // True, after run(), if both agents were told to begin.
  bool begun() const { return begun_.has_value(); }
  // True, after run(), if the copy has begun and cannot be made again (goes_once()).
  bool was_the_only_try() const;
  // Says, after run(), why the copy should be made again through ssh (slower_if_in_vain()): a port had
  // answered, but nothing came through. Nothing if there is no such reason, or that cannot be.
  std::optional<std::string> better_through_ssh() const;
  // Says, after run(), what became of each target.
  const TargetChain& chain() const { return chain_; }
  // Returns, after run(), what was copied, if both agents came to their end.
  const std::optional<Summary>& outcome() const { return outcome_; }

  void hear_problem(AgentSession& session, const tree::Problem& problem) override;
  void lose(AgentSession& session, const io::Error& error) override;
  void fail(const io::Error& error) override;
  void fall_silent(AgentSession& session, const io::Error& error) override;
  void end_by_signal(int signal) override;
  void about_to_stop() override { console_.clear_progress(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool start_agents();
  bool start_source();
  bool start_targets();
  bool start_target(std::size_t host);
  bool introduce_targets();
  void prepare(AgentSession& session);
  bool find_sources();
  bool send_jobs();
  bool send_jobs(EarlierRun earlier);
  bool begin();
  std::optional<Meeting> meet();
  bool knock();
  io::Result<void> prove_early(bool through_ssh);
  void mark_packets(bool through_ssh, DataPath& path);
  bool bridges_hold();
  void sum_up();
  void end_agents();

  // Runs the event loop until `done` holds. Returns false if the run is over before; this has been reported.
  bool turn_until(const std::function<bool()>& done);
  void end_run();
  AgentSession& far();

  CopyRequest request_;
  SessionLoop loop_;
  CopyConsole console_;
  CopySides sides_;
  TargetChain chain_;
  std::vector<Knocking> knocks_;  // the answer to one may come after another way was taken
  DataPath path_;
  std::vector<std::unique_ptr<Bridge>> bridges_;  // if ssh carries the data
  std::optional<Clock::time_point> begun_;
  bool over_ = false;     // a problem has ended the run
  bool in_vain_ = false;  // it was of the connections, before anything had come through
  std::optional<Summary> outcome_;
};

}  // namespace rdcp::cli
