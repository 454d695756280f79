// Sends what a target receives on to the next target, chunk by chunk, as it comes.
#pragma once

#include <functional>
#include <vector>

#include "tree/messages/job.h"
#include "tree/meta/names.h"
#include "tree/protocol/reporter.h"
#include "tree/source/source_session.h"
#include "tree/streams/passed_chunk.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// It is a source whose plan is fed by the slots of a target instead of by a walk. Life: copy() in a thread of
// its own; pass_on() meanwhile; close() or stop().
class Forwarder final : public NextTargets {
 public:
  // settings: of the target's job. lost: is told, once and by any thread, why nothing can be passed on any
  // more; the chunks that come from then on are answered by nobody.
  Forwarder(const CopySettings& settings, const StreamWish& wish, std::function<void(const Problem&)> lost);

  void pass_on(PassedChunk& chunk) override;
  // Drives the streams to the next target, and returns when they have ended. shape: of those streams; its
  // slots are at least as long as those in which chunks come.
  void copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape);
  void stop() override { session_.stop(); }
  // Nothing comes any more, so the streams end when all is answered. Any thread may call this.
  void close() { session_.plan().walk_finished(); }
  // The same, but not all has come: the next target must not take what it got for all.
  void cut_short() { session_.plan().stop(); }

 private:
  static SourceJob job_of(const CopySettings& settings, const StreamWish& wish);

  Reporter reporter_;
  NameTable names_;
  SourceSession session_;
};

}  // namespace rdcp::tree
