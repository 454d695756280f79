// The agent's control loop: takes its coordinator's messages, does one job, reports the result. agent.cpp has
// the loop, agent_jobs.cpp the jobs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "io/descriptors.h"
#include "io/thread.h"
#include "tree/agent/agent.h"
#include "tree/agent/job_streams.h"
#include "tree/agent/rejoinable.h"
#include "tree/check/checker.h"
#include "tree/doctor/measure.h"
#include "tree/guards/orders.h"
#include "tree/messages/clean_job.h"
#include "tree/messages/find_paths.h"
#include "tree/messages/hello.h"
#include "tree/messages/job.h"
#include "tree/protocol/control.h"
#include "tree/protocol/reporter.h"
#include "tree/sandbox/sandbox.h"
#include "tree/select/named_paths.h"
#include "tree/source/source.h"
#include "tree/target/target.h"

namespace rdcp::tree {

using SteadyClock = std::chrono::steady_clock;

class Agent {
 public:
  Agent(io::Fd in, io::Fd out, const AgentConfig& config)
      : config_(config),
        control_(std::move(in), std::move(out), "the coordinator", config.seal),
        reporter_([this](const Problem& problem) {
          tell_problem(problem);
          if (config_.tell) config_.tell(problem);
        }),
        sandbox_(config_.confinement != Confinement::none) {}

  AgentEnd run();

 private:
  // Sends a message. If that fails, the coordinator is gone, and the agent stops.
  template <class Message>
  void tell(const Message& message) {
    const auto sent = control_.send(message);
    if (!sent) stopping_ = true;
  }
  void tell_problem(const Problem& problem);
  void tell_progress();
  bool serve();
  bool survive_signal();
  bool handle(const RawMessage& raw);
  bool handle_wish(const RawMessage& raw);
  template <class Message, class Do>
  bool with(const RawMessage& raw, Do what);
  bool refuse(std::string_view why);
  bool run_segment(const SegmentJob& job);
  AgentState state() const;
  bool is_bounded(const Begin& begin) const;
  template <class Message>
  std::optional<Message> expect(const RawMessage& raw);
  bool take_names(const PathsNamed& part);
  bool take_wish(const Stay& wish);
  bool take_wishes(const TargetWishes& wishes);
  bool take_wishes(const SourceWishes& wishes);
  bool take_alterations(const Alterations& wish);
  bool take_order(const PassOn& order);
  void tell_lost(const BranchLost& lost);
  void keep_ledger();
  void tell_ledger();
  bool find(const FindPaths& asked);
  void answer_knock(const Knock& at);
  void tell_loss(std::size_t stream) { tell(StreamLost{static_cast<std::uint16_t>(stream)}); }
  bool hear_loss(const StreamLost& lost);
  void let_streams_grow(const GrowStreams& wish);
  template <class Message>
  bool hear_of_pair(const Message& said) {
    return streams_.hear(said) || refuse("speaks of a link to another agent that there is not");
  }
  void start_source(const SourceJob& job);
  bool knows_owners();
  void start_target(const TargetJob& asked);
  void start_measure(const MeasureJob& job);
  void start_clean(const CleanJob& job);
  bool confine(SandboxTerms terms, const StreamWish* wish = nullptr);
  bool confine_target(const TargetJob& job, PathKind kind);
  bool confine_connections(const Begin& begin);
  bool set_up(const StreamWish& wish, Reach& reach);
  void start_copy(const Begin& begin);
  void copy(const Begin& begin);
  void tell_result();
  void stop_job();
  bool end_job();
  int next_timeout_ms() const;
  bool coordinator_silent() const;
  bool outlast_loss();
  bool wait_for_coordinator();

  const AgentConfig config_;
  ControlChannel control_;
  Rejoinable rejoinable_{control_};
  Reporter reporter_;
  Sandbox sandbox_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Target> target_;
  CopySettings settings_;
  NamedPaths names_;         // for the source, until it is made
  Alterations alterations_;  // likewise
  SourceWishes source_wishes_;
  TargetWishes wishes_;  // for the target
  std::unique_ptr<Measure> measure_;
  CheckDesk checks_{control_, reporter_};
  JobStreams streams_{config_.streams,
                      {.lost = [this](const BranchLost& lost) { tell_lost(lost); },
                       .offered = [this](const PairOffered& offered) { tell(offered); },
                       .answered = [this](const PairAnswered& answered) { tell(answered); }}};
  io::Thread copy_thread_;
  io::Event copy_over_;             // made by run()
  bool explains_problems_ = false;  // set before a job has threads
  std::atomic<bool> copying_{false};
  std::atomic<bool> stopping_{false};
  bool suspended_ = false;
  bool ledger_told_ = false;
  bool tells_pace_ = false;
  bool ends_when_done_ = false;
  bool segment_complete_ = true;
  AgentEnd end_;
  SteadyClock::time_point begun_;
  SteadyClock::time_point heard_ = SteadyClock::now();
  SteadyClock::time_point next_progress_ = SteadyClock::now();
};

}  // namespace rdcp::tree
