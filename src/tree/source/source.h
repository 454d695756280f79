// The source of a copy: opens what the user named, walks it, and sends it over the streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tree/messages/job.h"
#include "tree/meta/metadata.h"
#include "tree/plan/plan.h"
#include "tree/protocol/reporter.h"
#include "tree/select/choice.h"
#include "tree/source/compare_requester.h"
#include "tree/source/names_walk.h"
#include "tree/source/packer.h"
#include "tree/source/rate_limiter.h"
#include "tree/source/sum_teller.h"
#include "tree/source/walker.h"
#include "tree/streams/standard_streams.h"
#include "tree/streams/stream_table.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

class FurtherStreams;

// What has been settled so far; relaxed atomics, read by the progress line.
struct SourceCounters {
  std::atomic<std::uint64_t> files{0}, directories{0}, others{0}, bytes{0}, resent_chunks{0};
  std::atomic<std::uint64_t> kept_bytes{0};  // of bytes: not sent, since the target had them
  std::atomic<std::uint64_t> wire_bytes{0};  // frames and payloads
};

// Thread-safe where it says so. Life: choose(), open(), then start_walk(), then set_landings() and copy();
// stop() any time.
class Source {
 public:
  Source(const SourceJob& job, Reporter& reporter, StandardStreams standard = {});
  ~Source();

  // What of the sources is wanted, as the job and the names say. Errors (protocol): as of Choice::create.
  io::Result<void> choose(NamedPaths names);
  // Opens every SRC and says what it is; what cannot be used has been reported.
  std::vector<PathFacts> open();
  // Starts to look for work; it goes into the plan, which is bounded.
  io::Result<void> start_walk();
  // Entry::path of each SRC's top, in order, from the target's side of the rules.
  void set_landings(const std::vector<std::string>& landings);
  // Holes are sent as zeros: the target is a device or a pipe, written in place. Before copy().
  void send_holes() { sends_holes_ = true; }
  // Tells the digests of what has arrived; before start_walk().
  void tell_sums(SumTeller::Sink sink) { sums_ = std::make_unique<SumTeller>(std::move(sink)); }
  // Before copy(): where the numbers of streams that are lost here go.
  void tell_losses(std::function<void(std::size_t)> tell) { streams_.set_tell(std::move(tell)); }
  // The target has lost a stream. Any thread, any time. False: there can be none of that number.
  bool hear_loss(std::size_t stream) { return streams_.give_up(stream); }
  // The only SRC becomes DST itself, so its name is no part of what lies in DST. After set_landings().
  void land_beneath_parent();
  // What a pipe has just now is sent at once, however little: the target has no positions. Before copy().
  void send_as_it_comes() { as_it_comes_ = true; }
  // Before copy(): the permission bits of what is no file itself.
  void set_new_mode(std::uint32_t mode) { new_mode_ = mode & 0777; }
  // Sends everything, one worker thread a stream, and returns when all is settled or the run was stopped.
  // shape: how many chunks each worker has under way, and how large they are, at most as the job says.
  // further: where streams come from that take the place of lost ones; null: none do.
  void copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
            FurtherStreams* further = nullptr);

  // Any thread: the run is over; workers drop what is under way and end soon.
  void stop();
  bool stopped() const { return stopped_; }

  Progress progress() const;
  // After copy().
  Done result() const;

  static constexpr int kSendTries = 3;

 private:
  friend class SourceWorker;
  PathFacts open_one(const std::string& path);
  PathFacts open_standard_input();
  PathFacts open_directory(const std::string& path);
  PathFacts open_special(const std::string& path, mode_t mode);
  PathFacts refuse_root(const io::Error& why);
  PathFacts add_root(Root root, PathKind kind);
  void add_opened(const Root& root);
  std::uint64_t digest_max() const {
    return job_.settings.checksum ? small_file_max_ : std::numeric_limits<std::uint64_t>::max();
  }

  const SourceJob job_;
  Reporter& reporter_;
  const StandardStreams standard_;
  const MetadataPolicy policy_;
  Choice choice_;
  bool sends_holes_ = false;
  bool as_it_comes_ = false;
  std::uint32_t new_mode_ = 0600;
  net::StreamShape shape_;  // small_file_max_ and it are set before the first worker starts
  std::uint64_t small_file_max_;
  bool read_beside_ = false;  // one stream, several processors: set with shape_
  NameTable names_;
  std::vector<Root> roots_;
  std::vector<int> root_of_path_;  // index into roots_ or -1, for each path of the job
  Plan plan_;
  StreamTable streams_;
  RateLimiter pacer_;
  SourceCounters counters_;
  std::unique_ptr<SumTeller> sums_;
  std::unique_ptr<NamesWalk> names_walk_;  // --delete
  std::unique_ptr<Walker> walker_;
  std::atomic<std::uint64_t> next_file_id_{1};
  std::atomic<bool> stopped_{false};

  mutable std::mutex mutex_;  // of what follows
  std::string current_path_;
  Done done_;
};

}  // namespace rdcp::tree
