// The state that the workers of a source share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "net/stream/stream.h"
#include "tree/messages/job.h"
#include "tree/plan/plan.h"
#include "tree/protocol/reporter.h"
#include "tree/source/rate_limiter.h"
#include "tree/source/source_totals.h"
#include "tree/source/sum_teller.h"
#include "tree/streams/frame_ledger.h"
#include "tree/streams/standard_streams.h"
#include "tree/streams/stream_table.h"
#include "tree/walk/names_walk.h"
#include "tree/walk/read_context.h"

namespace rdcp::tree {

// Says how entries are sent.
struct SendTerms {
  net::StreamShape shape;
  std::uint64_t small_file_max = 0;  // larger files are sent by extents
  bool read_beside = false;          // other threads read cached files: one stream, several processors
  bool sends_holes = false;          // holes go as zeros: the target is a device or a pipe, written in place
  // The target has no positions: it writes chunks in their order, and what a pipe has is sent at once,
  // however little.
  bool in_order = false;
  std::uint32_t new_mode = 0600;  // permission bits of the copy of a SRC that is not a file itself
};

// Thread-safe: settings do not change once the first worker has started, and the shared members are
// thread-safe themselves.
class SourceSession {
 public:
  // removes: files that were copied are removed.
  SourceSession(const SourceJob& job, const StandardStreams& standard, const ReadContext& reading,
                bool removes = false);

  const SourceJob& job() const { return job_; }
  const CopySettings& settings() const { return job_.settings; }
  const StandardStreams& standard() const { return standard_; }
  // Returns the policy, names and reporter for whatever reads files.
  const ReadContext& reading() const { return reading_; }
  Reporter& reporter() const { return reading_.reporter; }

  bool removes() const { return removes_; }

  const SendTerms& terms() const { return terms_; }
  void set_terms(const SendTerms& terms) { terms_ = terms; }
  // Returns the size up to which an archive chunk takes files.
  static std::uint64_t small_file_max(std::size_t chunk_bytes);
  // Larger files than this are compared while they are open, by both sides at once (--checksum).
  std::uint64_t digest_max() const;

  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  // There are several targets, each of which passes on what it gets. To be called before begin() of
  // streams().
  void join_chain() {
    chained_ = true;
    streams_.need_all();
  }
  bool is_chained() const { return chained_; }
  StreamTable& streams() { return streams_; }
  const StreamTable& streams() const { return streams_; }
  RateLimiter& limiter() { return limiter_; }
  SourceTotals& totals() { return totals_; }
  const SourceTotals& totals() const { return totals_; }
  // Returns null if nobody wants digests told.
  SumTeller* sums() { return sums_.get(); }
  void tell_sums(SumTeller::Sink sink) { sums_ = std::make_unique<SumTeller>(std::move(sink)); }
  // Returns null if no ledger is kept.
  SentFrames* ledger() { return ledger_.get(); }
  const SentFrames* ledger() const { return ledger_.get(); }
  void keep_ledger() { ledger_ = std::make_unique<SentFrames>(); }
  // Returns the walk of --delete; used only for names that it has given to the plan.
  const NamesWalk& names_walk() const { return *names_walk_; }
  void set_names_walk(std::unique_ptr<NamesWalk> walk) { names_walk_ = std::move(walk); }

  // Ends the run, with this as its cause unless there is one already: no more work is handed out. The streams
  // are ended in order, so that the target does not take a cut connection for the cause; with the end it is
  // told that not all has come.
  void fail(const io::Error& error);
  // Ends the run: workers drop what is under way and end soon.
  void stop();
  bool stopped() const { return stopped_; }

 private:
  const SourceJob job_;
  const StandardStreams standard_;
  const ReadContext reading_;
  const bool removes_;
  bool chained_ = false;
  SendTerms terms_;
  std::unique_ptr<SumTeller> sums_;
  std::unique_ptr<SentFrames> ledger_;
  std::unique_ptr<NamesWalk> names_walk_;
  Plan plan_;
  StreamTable streams_;
  RateLimiter limiter_;
  SourceTotals totals_;
  std::atomic<bool> stopped_{false};
};

}  // namespace rdcp::tree
