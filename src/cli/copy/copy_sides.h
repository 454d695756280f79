// The agents of one copy, with what each has said of its part.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "cli/agents/agent_session.h"
#include "cli/agents/latecomers.h"
#include "cli/agents/pair_relay.h"
#include "cli/agents/round_trip.h"
#include "tree/messages/chain.h"
#include "tree/messages/find_paths.h"
#include "tree/messages/job.h"
#include "tree/messages/message.h"

namespace rdcp::cli {

// One agent. It stays where it is, because its session has handlers that refer to it.
struct CopySide {
  std::unique_ptr<AgentSession> session;
  bool has_job = false;  // the job in its present form has been sent
  tree::Progress progress = {};
  // True as long as nothing is known to have come through to the targets.
  bool brought_nothing() const { return progress.bytes_done == 0 && progress.files_done == 0; }
  std::optional<tree::Done> done = {};
  std::optional<tree::Ledger> ledger = {};
};

struct SourceSide : CopySide {
  std::optional<tree::PathsFound> found = {};  // the answer to FindPaths
  std::optional<tree::SourceReady> ready = {};
};

struct TargetSide : CopySide {
  net::SessionKey key{};  // of its streams
  std::size_t host = 0;   // its place among Parties::start_targets
  std::optional<tree::TargetReady> ready = {};
};

// One source, and any number of targets.
class CopySides {
 public:
  // Take over agents that have been started. What they say of their readiness, progress and end, and of lost
  // streams, is taken from now on.
  SourceSide& set_source(std::unique_ptr<AgentSession> session);
  TargetSide& add_target(std::unique_ptr<AgentSession> session, std::size_t host = 0);
  // Takes a target out: it counts for nothing from now on. Its session stays, and is ended.
  void drop(TargetSide& target);

  RoundTrip round_trip;  // to the side that is far
  PairRelay pairs;       // between the sides

  // To be called once set_source() has been.
  SourceSide& source() { return source_; }
  const SourceSide& source() const { return source_; }
  const std::vector<std::unique_ptr<TargetSide>>& targets() const { return targets_; }
  // Returns the sides whose agents have been started.
  std::vector<CopySide*> started();

  // Has queue pairs of the source and the first target meet, whose streams one of them connects.
  void join_first(bool source_connects);

  // Tells the number of streams and the round-trip time, if that is known, to those that listen to it.
  void tell_path(unsigned streams);
  // Lets agents that this program has started on other hosts end as soon as they are done, if a round trip to
  // them takes a time that is felt. Others have a user of their own, who waits for the last word.
  void let_end_when_done(const std::optional<RoundTrip::Clock::duration>& round_trip_time);

  // Has those that know how mark their packets. Returns the others' sessions.
  std::vector<const AgentSession*> mark_packets(std::uint8_t traffic_class);

  // Lets the source have up to `most` streams, if the side that connects knows how to add some.
  void let_streams_grow(unsigned most, bool source_connects);

  // Has the source and its one target prove the streams' key early, if both know how. Error: the system has
  // no random bytes.
  io::Result<void> let_prove_early();

  // Has those that would move threads to NUMA nodes leave them where they are.
  void leave_placement();

  bool all_ready() const;
  // True if there are a source and a target at least, and all sides are done.
  bool all_done();
  bool is_done(const AgentSession& session);
  // Returns the target whose session this is; null for the source's, and for one that was dropped.
  TargetSide* target_of(const AgentSession& session);
  bool was_dropped(const AgentSession& session) const;
  // Returns the targets that have given no sign of life for longer than this.
  std::vector<TargetSide*> silent_for(std::chrono::milliseconds time);
  // Returns the targets that say no hello long after others have (Latecomers).
  std::vector<TargetSide*> late();
  // Forgets the jobs that have been sent, and that the agents were ready for them.
  void begin_anew();
  // From now on the other side is told of lost streams. There are none before, so nothing that an agent has
  // said of them until then was true.
  void expect_losses() { expects_losses_ = true; }

 private:
  void listen_to(CopySide& side);
  void pass_on(const CopySide& from, const tree::StreamLost& lost);
  void pass_on(const CopySide& from, const tree::UseStreams& use);

  SourceSide source_;
  std::vector<std::unique_ptr<TargetSide>> targets_, dropped_;
  Latecomers latecomers_;
  bool expects_losses_ = false;
};

}  // namespace rdcp::cli
