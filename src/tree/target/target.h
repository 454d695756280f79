// The target of a copy: says what DST is, then takes chunks from the streams and puts files and names in
// place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tree/messages/chain.h"
#include "tree/messages/job.h"
#include "tree/protocol/reporter.h"
#include "tree/resume/run_marker.h"
#include "tree/session/target_session.h"
#include "tree/streams/standard_streams.h"
#include "tree/streams/worker.h"
#include "tree/target/chunk_handler.h"

namespace rdcp::tree {

class FurtherStreams;

// How a source ends.
enum class SourceEnd : std::uint8_t {
  all_came,   // in order, after all that it had to send
  cut_short,  // in order, because it has failed
  lost,       // its streams were cut
};

// Life: open(), begin(), copy(); stop() any time from any thread.
class Target {
 public:
  Target(const TargetJob& job, Reporter& reporter, StandardStreams standard = {})
      : session_(job, reporter), standard_(std::move(standard)) {}

  // Before open(): whatever the source says, it can but fill DST, a file, and `mode` is that of a new one.
  void take_only_one_file(std::uint32_t mode) { only_file_mode_ = mode; }
  // Before open(): the umask of the account that the target runs in, which this process does not have.
  void use_umask(std::uint32_t umask) { umask_ = umask; }
  // Before open(): where a sync's changes go.
  void tell_changes(std::function<void(const Changes&)> tell) { session_.changes.set_tell(std::move(tell)); }
  // Before copy(): other targets of the same source get what this one gets. next: whom it passes on to.
  void join_chain(std::vector<NextTargets*> next) {
    chain_ = {.member = true, .next = std::move(next)};
    session_.files.others = true;
    session_.streams.need_all();
  }
  // Before copy(): has the frames that come summed up.
  void keep_ledger() { session_.guards.keep_ledger(); }
  // After copy(): the ledger, if it was kept.
  std::optional<Ledger> ledger() const;
  // Before copy(): where the numbers of streams that are lost here go.
  void tell_losses(std::function<void(std::size_t)> tell) { session_.streams.set_tell(std::move(tell)); }
  // The source has lost a stream. Any thread may call this at any time. Returns false if no stream can have
  // that number.
  bool hear_loss(std::size_t stream) { return session_.streams.give_up(stream); }
  // The source has its chunks go over so many streams from now on; if fewer live, this side makes more where
  // it connects. Any thread may call this at any time.
  void use_streams(std::size_t streams) { session_.streams.use(streams); }
  // True while a stream from the source lives, or has ended well. Any thread may call this at any time.
  bool connected() const { return session_.streams.connected(); }
  // After copy(): how it has ended, whatever became here of what came.
  SourceEnd source_end() const;
  // Says what it has been busy with so far. Any thread may call this at any time.
  Pace pace() const { return session_.tally.pace.told(); }
  // Says what stands at DST, and which directories are above it.
  TargetReady open();
  // Directories outside the root of which it makes links. After open().
  const auto& links() const { return session_.earlier.links; }
  // Opens the root beneath which everything is put: DST, its parent, or DST itself to be written in place.
  io::Result<void> begin(const Begin& begin);
  // After a begin() that has failed, where others get what comes by way of this one: it is passed on, and
  // nothing is put here.
  void refuse(const io::Error& why) { session_.fail(why); }
  // Takes chunks, with one worker thread for each stream, until every stream has ended or is lost. further:
  // where streams come from that take the place of lost ones; null: none do.
  void copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
            FurtherStreams* further = nullptr);

  void stop() {
    session_.stop();
    for (NextTargets* next : chain_.next) next->stop();
  }

  // After copy().
  Done result() const { return session_.result(complete_); }

 private:
  TargetReady look_at_destination();
  void look_for_marker(TargetReady& ready);
  io::Result<void> open_in_place();
  io::Result<void> open_root(const Begin& begin);
  bool flush();
  bool has_left_nothing() const;
  void remove_marker();
  io::Result<void> check_that_it_can_be_made() const;
  Entry only_file() const;

  TargetSession session_;
  const StandardStreams standard_;
  ChainPlace chain_;
  std::optional<std::uint32_t> only_file_mode_;
  std::uint32_t umask_ = 022;
  PathKind kind_ = PathKind::missing;
  std::optional<RunMarker> marker_;
  std::string makes_;      // what the run makes beside its marker
  bool complete_ = false;  // after copy()
};

}  // namespace rdcp::tree
