// The target of a copy: says what DST is, then takes chunks from the streams and puts files and names in
// place.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/fd.h"
#include "tree/fs/spellings.h"
#include "tree/guards/admitted_names.h"
#include "tree/guards/agreed.h"
#include "tree/guards/removal_gate.h"
#include "tree/messages/job.h"
#include "tree/meta/entry.h"
#include "tree/meta/metadata.h"
#include "tree/mirror/changes_in_turn.h"
#include "tree/protocol/reporter.h"
#include "tree/resume/run_marker.h"
#include "tree/streams/standard_streams.h"
#include "tree/streams/stream_table.h"
#include "tree/streams/worker.h"
#include "tree/target/basis_candidates.h"
#include "tree/target/not_put.h"
#include "tree/target/reply_cache.h"
#include "tree/target/target_file.h"

namespace rdcp::tree {

class FurtherStreams;

// Life: open(), begin(), copy(); stop() any time from any thread.
class Target {
 public:
  Target(const TargetJob& job, Reporter& reporter, StandardStreams standard = {})
      : job_(job),
        reporter_(reporter),
        standard_(std::move(standard)),
        policy_(job.settings.policy()),
        names_([&reporter](const io::Error& error) { reporter.problem(error); }),
        losses_([&reporter](const io::Error& error) { reporter.problem(error); }),
        gate_(job.settings.sync) {}

  // Before open(): whatever the source says, it can but fill DST, a file, and `mode` is that of a new one.
  void take_only_one_file(std::uint32_t mode) { only_file_mode_ = mode; }
  // Before open(): the umask of the account that the target runs in, which process has none.
  void use_umask(std::uint32_t umask) { umask_ = umask; }
  // Before open(): where a sync's changes go.
  void tell_changes(std::function<void(const Changes&)> tell) { changes_.set_tell(std::move(tell)); }
  // Before copy(): where the numbers of streams that are lost here go.
  void tell_losses(std::function<void(std::size_t)> tell) { streams_.set_tell(std::move(tell)); }
  // The source has lost a stream. Any thread, any time. False: there can be none of that number.
  bool hear_loss(std::size_t stream) { return streams_.give_up(stream); }
  // What stands at DST, and which directories are above it.
  TargetReady open();
  // Opens the root beneath which everything is put: DST, its parent, or DST itself to be written in place.
  io::Result<void> begin(const Begin& begin);
  // Takes chunks, one worker thread a stream, until every stream has ended or is lost.
  // further: where streams come from that take the place of lost ones; null: none do.
  void copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
            FurtherStreams* further = nullptr);

  void stop() { stopped_ = true; }
  // Wakes nobody; workers look every 500 ms, and their streams end with the source's.
  bool stopped() const { return stopped_; }
  // Something went wrong that ends the run: what still comes is refused, until the coordinator has heard of
  // it.
  void refuse_all() { refusing_ = true; }
  bool refusing() const { return refusing_; }

  // After copy().
  Done result() const;

 private:
  friend class TargetWorker;
  TargetReady look_at_destination();
  void look_for_marker(TargetReady& ready);
  io::Result<void> open_in_place();
  bool flush();
  void run_worker(std::size_t index, const StreamMaker& make_stream, const net::StreamShape& shape);
  bool has_left_nothing() const;
  void remove_marker();
  Entry only_file() const;
  void note_misread(const std::string& subject);

  const TargetJob job_;
  Reporter& reporter_;
  const StandardStreams standard_;
  std::optional<std::uint32_t> only_file_mode_;
  std::uint32_t umask_ = 022;
  PathKind kind_ = PathKind::missing;
  const MetadataPolicy policy_;
  NameTable names_;
  Losses losses_;
  NotPut not_put_;
  Spellings spellings_;
  TargetFiles files_;
  StreamTable streams_;
  ReplyCache unheard_;
  BasisCandidates like_files_;
  std::atomic<int> chunk_indexes_{0};
  io::Fd root_;
  std::string root_name_;
  AdmittedNames admitted_;  // all that the source may name
  RemovalGate gate_;
  ChangesInTurn changes_;
  std::optional<RunMarker> marker_;
  std::string makes_;                  // what the run makes beside its marker
  std::atomic<bool> put_{false};       // something has its name, or was written in place
  std::atomic<int> parts_{0};          // that were begun, and not dropped
  std::atomic<bool> no_locks_{false};  // on the target's filesystem
  io::Fd in_place_;
  bool ordered_ = false;  // in_place_ has no positions
  Terms terms_ = 0;       // what the source may send
  std::atomic<bool> stopped_{false};
  std::atomic<bool> refusing_{false};
  std::atomic<std::uint64_t> bytes_{0};

  std::atomic<bool> read_from_cache_{false};  // --verify met a filesystem that knows nothing else

  mutable std::mutex mutex_;
  Done done_;
  std::uint64_t misread_ = 0;  // pieces that were read back other than they came
  std::string first_misread_;
};

}  // namespace rdcp::tree
