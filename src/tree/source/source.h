// The source of a copy: opens what the user named, walks it, and sends it over the streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tree/messages/alterations.h"
#include "tree/messages/chain.h"
#include "tree/messages/job.h"
#include "tree/messages/source_wishes.h"
#include "tree/protocol/reporter.h"
#include "tree/source/source_session.h"
#include "tree/source/sum_teller.h"
#include "tree/streams/standard_streams.h"
#include "tree/streams/stream_supervisor.h"
#include "tree/streams/worker.h"
#include "tree/walk/source_walk.h"

namespace rdcp::tree {

// Thread-safe where it says so. Life: choose(), open(), then start_walk(), then set_landings() and copy();
// stop() any time.
class Source {
 public:
  Source(const SourceJob& job, Reporter& reporter, const StandardStreams& standard = {},
         const Alterations& alterations = {}, const SourceWishes& wishes = {});
  ~Source();

  // Chooses what to copy, as the job and the names say. Fails (protocol) as Choice::create does.
  io::Result<void> choose(NamedPaths names) { return walk_.choose(std::move(names)); }
  // Opens every SRC and returns what each is; reports those that cannot be used.
  std::vector<PathFacts> open() { return walk_.open(); }
  const SourceWalk& walk() const { return walk_; }
  // Starts the walk, which fills the plan; the plan is bounded.
  io::Result<void> start_walk();
  // Sets Entry::path of each SRC's top, in order, as the target decided.
  void set_landings(const std::vector<std::string>& landings) { walk_.set_landings(landings); }
  // Sends holes as zeros, because the target is a device or a pipe, written in place. Before copy().
  void send_holes() { terms_.sends_holes = true; }
  // Has the digests of what has arrived told to sink. Before start_walk().
  void tell_sums(SumTeller::Sink sink) { session_.tell_sums(std::move(sink)); }
  // Has the numbers of streams that are lost here told. Before copy().
  void tell_losses(std::function<void(std::size_t)> tell) { session_.streams().set_tell(std::move(tell)); }
  // There are several targets. The loss of any stream ends the run. Before copy().
  void join_chain() { session_.join_chain(); }
  // Has the frames that are sent summed up. Before copy().
  void keep_ledger() { session_.keep_ledger(); }
  // After copy(): the ledger, if it was kept.
  std::optional<Ledger> ledger() const;
  // Notes that the target has lost a stream. Any thread, any time. Returns false if the number is impossible.
  bool hear_loss(std::size_t stream) { return session_.streams().give_up(stream); }
  // True while a stream to the target lives, or has ended well. Any thread, any time.
  bool connected() { return session_.streams().connected(); }
  // Takes the SRC's name out of the paths that are told (tell_sums()): the only SRC becomes DST itself. After
  // set_landings().
  void land_beneath_parent();
  // The target has no positions: it writes chunks in their order, and what a pipe has is sent at once,
  // however little. Before copy().
  void send_in_order() { terms_.in_order = true; }
  // Sets the permission bits of the copy of a SRC that is not a file itself. Before copy().
  void set_new_mode(std::uint32_t mode) { terms_.new_mode = mode & 0777; }
  // During copy() the policy says over how many streams it goes, no fewer than there are at first, and the
  // side that connects makes them. tell: is told of it, if that is the target's side. Before copy().
  void let_streams_grow(std::unique_ptr<StreamPolicy> policy, std::function<void(std::size_t)> tell) {
    policy_ = std::move(policy);
    tell_streams_ = std::move(tell);
  }
  // Sends everything, one worker thread for each stream, and returns when all is settled or the run was
  // stopped. shape says how many chunks each worker has under way and how large they are, within the job's
  // limits. further makes streams that come later, or is null.
  void copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
            FurtherStreams* further = nullptr);

  // Ends the run: workers drop what is under way and end soon. Any thread.
  void stop() { session_.stop(); }
  bool stopped() const { return session_.stopped(); }

  Progress progress() const;
  // After copy().
  Done result() const;

 private:
  NameTable names_;
  SendTerms terms_;
  SourceWalk walk_;
  SourceSession session_;
  std::unique_ptr<StreamPolicy> policy_;  // null: as many streams as at first
  std::function<void(std::size_t)> tell_streams_;
};

}  // namespace rdcp::tree
