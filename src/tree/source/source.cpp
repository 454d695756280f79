#include "tree/source/source.h"

#include <chrono>
#include <utility>

#include "tree/source/source_worker.h"
#include "tree/streams/stream_supervisor.h"

namespace rdcp::tree {

Source::Source(const SourceJob& job, Reporter& reporter, const StandardStreams& standard,
               const Alterations& alterations, const SourceWishes& wishes)
    : names_([&reporter](const io::Error& error) { reporter.problem(error); }),
      walk_(job, wishes, standard, reporter),
      session_(job, standard, {job.settings.policy(), names_, reporter, alterations.metadata},
               wishes.remove_files) {}

Source::~Source() {
  stop();
  walk_.end();
}

// The names of --delete are sent when all else is settled.
io::Result<void> Source::start_walk() {
  const SyncSettings& sync = session_.settings().sync;
  if (auto names = walk_.names_walk()) {
    const bool in_turn = sync.tells() && sync.max_delete != SyncSettings{}.max_delete;
    session_.plan().set_last_names([walk = names.get()](auto& batch) { return walk->take(batch); }, in_turn);
    session_.set_names_walk(std::move(names));
  }
  return walk_.start(session_.plan(), session_.reading(), session_.terms().small_file_max,
                     session_.digest_max());
}

void Source::land_beneath_parent() {
  const std::string* landing = walk_.only_landing();
  if (session_.sums() != nullptr && landing != nullptr) session_.sums()->set_top(*landing);
}

void Source::copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
                  FurtherStreams* further) {
  // The walker may have sorted by larger chunks: what does not fit an archive chunk now is packed as grown.
  terms_.shape = shape;
  terms_.small_file_max = SourceSession::small_file_max(shape.slot_bytes);
  terms_.read_beside = streams.size() == 1 && io::processors() > 1;
  session_.set_terms(terms_);
  Plan& plan = session_.plan();
  plan.set_extent_bytes(shape.slot_bytes);
  session_.totals().expect_streams(streams.size());
  StreamSupervisor supervisor(
      session_.streams(),
      [&](std::size_t i, const StreamMaker& make_stream) { SourceWorker(session_, i).run(make_stream); },
      [&plan] { return plan.stopped(); }, [this](const io::Error& error) { session_.fail(error); });
  supervisor.follow(
      {policy_.get(), [this] { return session_.totals().arrived_bytes(); }, std::move(tell_streams_)});
  supervisor.run(streams, further, std::chrono::seconds(session_.settings().retry_seconds));
  if (session_.sums() != nullptr) session_.sums()->finish();
  session_.totals().set_complete(session_.streams().any_ended() && !plan.stopped());
}

Progress Source::progress() const {
  const PlanTotals found = session_.plan().totals();
  Progress progress = session_.totals().progress();
  progress.bytes_total = found.bytes;
  progress.files_total = found.files;
  progress.total_known = found.complete;
  return progress;
}

Done Source::result() const {
  Done done = session_.totals().done();
  const std::vector<std::string> lost = session_.streams().lost();
  if (done.complete) done.lost_streams.assign(lost.begin(), lost.end());
  const std::string outcome = policy_ ? policy_->outcome() : std::string();
  if (!outcome.empty()) done.notes.emplace_back(outcome);
  return done;
}

std::optional<Ledger> Source::ledger() const {
  if (session_.ledger() == nullptr) return std::nullopt;
  return session_.ledger()->tell();
}

}  // namespace rdcp::tree
