// The workers of one target share this: what the job asks, where things are put, what the source may do, the
// files under way, and how the run ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "io/fd.h"
#include "tree/messages/job.h"
#include "tree/meta/kept_times.h"
#include "tree/meta/metadata.h"
#include "tree/mirror/changes_in_turn.h"
#include "tree/protocol/reporter.h"
#include "tree/session/basis_candidates.h"
#include "tree/session/earlier_copies.h"
#include "tree/session/reply_cache.h"
#include "tree/session/target_file.h"
#include "tree/session/target_guards.h"
#include "tree/session/target_tally.h"
#include "tree/streams/stream_table.h"

namespace rdcp::tree {

// Where a target puts things. It is filled in before the workers start and does not change after that.
struct TargetPlace {
  io::Fd root;                // DST or its parent directory; none where DST itself is written
  io::Fd in_place;            // DST itself: a device, a FIFO or standard output
  std::string name;           // the name of root or in_place, for messages
  bool ordered = false;       // in_place has no positions, so chunks are written in their order
  bool is_directory = false;  // DST was a directory before this run
};

// Large files that are open, and what belongs to them across streams. Thread-safe.
struct FilesUnderWay {
  TargetFiles open;
  ReplyCache replies;           // answers that a source may not have heard
  bool others = false;          // there are other targets of the same source
  RefusedFiles refused;         // used where there are others
  BasisCandidates candidates;   // files of the target's tree, by size
  std::atomic<int> indexes{0};  // chunk indexes in memory
};

// The public members are thread-safe, or do not change once the workers run.
class TargetSession {
 public:
  TargetSession(const TargetJob& job, Reporter& reporter)
      : job(job),
        guards(job.settings.sync),
        earlier([this](const io::Error& error) { reporter_.problem(error); }),
        names_([this](const io::Error& error) { reporter_.problem(error); }),
        losses_([this](const io::Error& error) { reporter_.problem(error); }),
        reporter_(reporter) {}

  const TargetJob job;
  TargetPlace place;
  TargetGuards guards;
  EarlierCopies earlier;
  FilesUnderWay files;
  StreamTable streams;
  ChangesInTurn changes;
  TargetTally tally;

  MetadataContext metadata() { return {job.settings.policy(), names_, losses_}; }
  Losses& losses() { return losses_; }
  // As the function of this name (tree/meta/kept_times.h).
  void with_times_kept(int directory, std::string_view subject, const std::function<void()>& change) {
    tree::with_times_kept(directory, subject, losses_, change);
  }
  const Losses& losses() const { return losses_; }
  Reporter& reporter() { return reporter_; }

  // Ends the run at once. Wakes nobody: workers look every 500 ms, and their streams end with the source's.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  // Reports the error that ends the run, once. Whatever still comes is refused until the coordinator has
  // heard of it. The streams stay: if one were cut here, the source would take that for the cause.
  void fail(const io::Error& error);
  // Reports what went wrong with one entry or file. An error that would hit all others too (a full or
  // read-only filesystem, a peer that breaks the protocol) ends the run.
  void report(const io::Error& error);
  // The source has ended a stream and said that it has failed.
  void note_cut_short() { cut_short_ = true; }
  bool cut_short() const { return cut_short_; }
  bool refusing() const { return refusing_; }
  bool giving_up() const { return stopped_ || refusing_; }
  // To be called after the workers have ended. complete: the run came to its end, though perhaps with
  // problems.
  Done result(bool complete) const;

 private:
  NameTable names_;
  Losses losses_;
  Reporter& reporter_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> refusing_{false};
  std::atomic<bool> cut_short_{false};
};

}  // namespace rdcp::tree
