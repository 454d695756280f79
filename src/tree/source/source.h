// The source of a copy: opens what the user named, walks it, and sends it over the streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tree/messages/job.h"
#include "tree/protocol/reporter.h"
#include "tree/select/choice.h"
#include "tree/source/source_session.h"
#include "tree/source/sum_teller.h"
#include "tree/streams/standard_streams.h"
#include "tree/streams/worker.h"
#include "tree/walk/source_roots.h"
#include "tree/walk/walker.h"

namespace rdcp::tree {

class FurtherStreams;

// Thread-safe where it says so. Life: choose(), open(), then start_walk(), then set_landings() and copy();
// stop() any time.
class Source {
 public:
  Source(const SourceJob& job, Reporter& reporter, const StandardStreams& standard = {});
  ~Source();

  // What of the sources is wanted, as the job and the names say. Errors (protocol): as of Choice::create.
  io::Result<void> choose(NamedPaths names);
  // Opens every SRC and says what it is; what cannot be used has been reported.
  std::vector<PathFacts> open() { return roots_.open(); }
  // Starts to look for work; it goes into the plan, which is bounded.
  io::Result<void> start_walk();
  // Entry::path of each SRC's top, in order, from the target's side of the rules.
  void set_landings(const std::vector<std::string>& landings) { roots_.set_landings(landings); }
  // Holes are sent as zeros: the target is a device or a pipe, written in place. Before copy().
  void send_holes() { terms_.sends_holes = true; }
  // Tells the digests of what has arrived; before start_walk().
  void tell_sums(SumTeller::Sink sink) { session_.tell_sums(std::move(sink)); }
  // Before copy(): where the numbers of streams that are lost here go.
  void tell_losses(std::function<void(std::size_t)> tell) { session_.streams().set_tell(std::move(tell)); }
  // The target has lost a stream. Any thread, any time. False: there can be none of that number.
  bool hear_loss(std::size_t stream) { return session_.streams().give_up(stream); }
  // The only SRC becomes DST itself, so its name is no part of what lies in DST. After set_landings().
  void land_beneath_parent();
  // What a pipe has just now is sent at once, however little: the target has no positions. Before copy().
  void send_as_it_comes() { terms_.as_it_comes = true; }
  // Before copy(): the permission bits of what is no file itself.
  void set_new_mode(std::uint32_t mode) { terms_.new_mode = mode & 0777; }
  // Sends everything, one worker thread a stream, and returns when all is settled or the run was stopped.
  // shape: how many chunks each worker has under way, and how large they are, at most as the job says.
  // further: where streams come from that take the place of lost ones; null: none do.
  void copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
            FurtherStreams* further = nullptr);

  // Any thread: the run is over; workers drop what is under way and end soon.
  void stop() { session_.stop(); }
  bool stopped() const { return session_.stopped(); }

  Progress progress() const;
  // After copy().
  Done result() const;

 private:
  void walk_names();

  NameTable names_;
  Choice choice_;
  SendTerms terms_;
  SourceRoots roots_;  // directories and items point to them
  SourceSession session_;
  std::unique_ptr<Walker> walker_;
};

}  // namespace rdcp::tree
