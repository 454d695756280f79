// What the workers of a source share.
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
#include "tree/streams/standard_streams.h"
#include "tree/streams/stream_table.h"
#include "tree/walk/names_walk.h"
#include "tree/walk/read_context.h"

namespace rdcp::tree {

// How what was found is sent.
struct SendTerms {
  net::StreamShape shape;
  std::uint64_t small_file_max = 0;  // larger files are sent by extents
  bool read_beside = false;          // one stream, several processors
  bool sends_holes = false;          // as zeros: the target is a device or a pipe, written in place
  bool as_it_comes = false;          // what a pipe has just now is sent at once, however little
  std::uint32_t new_mode = 0600;     // permission bits of what is no file itself
};

// Thread-safe: what is set is set before the first worker starts and const from then on; all else is shared.
class SourceSession {
 public:
  // names, reporter: outlive this.
  SourceSession(const SourceJob& job, const StandardStreams& standard, NameTable& names, Reporter& reporter);

  const SourceJob& job() const { return job_; }
  const CopySettings& settings() const { return job_.settings; }
  const StandardStreams& standard() const { return standard_; }
  // Policy, names and reporter of all that reads files.
  const ReadContext& reading() const { return reading_; }
  Reporter& reporter() const { return reading_.reporter; }

  const SendTerms& terms() const { return terms_; }
  void set_terms(const SendTerms& terms) { terms_ = terms; }
  // The size up to which an archive chunk takes files.
  static std::uint64_t small_file_max(std::size_t chunk_bytes);
  // Larger files than this are compared while they are open, by both sides at once (--checksum).
  std::uint64_t digest_max() const;

  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  StreamTable& streams() { return streams_; }
  const StreamTable& streams() const { return streams_; }
  RateLimiter& limiter() { return limiter_; }
  SourceTotals& totals() { return totals_; }
  const SourceTotals& totals() const { return totals_; }
  // Null: nobody wants digests told.
  SumTeller* sums() { return sums_.get(); }
  void tell_sums(SumTeller::Sink sink) { sums_ = std::make_unique<SumTeller>(std::move(sink)); }
  // --delete; used only for names that it has given to the plan.
  const NamesWalk& names_walk() const { return *names_walk_; }
  void set_names_walk(std::unique_ptr<NamesWalk> walk) { names_walk_ = std::move(walk); }

  // Ends the run, with this as its cause unless there is one: no more work is handed out. The streams are
  // ended in order, so that the target does not take a cut connection for the cause.
  void fail(const io::Error& error);
  // The run is over: workers drop what is under way and end soon.
  void stop();
  bool stopped() const { return stopped_; }

 private:
  const SourceJob job_;
  const StandardStreams standard_;
  const ReadContext reading_;
  SendTerms terms_;
  std::unique_ptr<SumTeller> sums_;
  std::unique_ptr<NamesWalk> names_walk_;
  Plan plan_;
  StreamTable streams_;
  RateLimiter limiter_;
  SourceTotals totals_;
  std::atomic<bool> stopped_{false};
};

}  // namespace rdcp::tree
