#include "tree/source/source.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "net/stream/verdicts.h"
#include "tree/source/source_worker.h"
#include "tree/streams/stream_supervisor.h"

namespace rdcp::tree {

namespace {

// About how full an archive chunk should be: smaller ones cost round trips, larger ones keep the other side
// waiting.
constexpr std::uint64_t kBatchBytes = 512 << 10;
constexpr std::size_t kBatchItems = 512;
constexpr std::size_t kComparedItems = net::Verdicts::kCount;  // a page, most of the time
constexpr unsigned kWalkThreadsMax = 2;

}  // namespace

Source::Source(const SourceJob& job, Reporter& reporter, const StandardStreams& standard)
    : names_([&reporter](const io::Error& error) { reporter.problem(error); }),
      roots_(job, standard, reporter),
      session_(job, standard, names_, reporter) {}

Source::~Source() {
  stop();
}

io::Result<void> Source::choose(NamedPaths names) {
  const SourceJob& job = session_.job();
  const bool recursive = job.recursive || !job.selection.named_only;
  auto choice = Choice::create(job.selection, recursive, std::move(names));
  if (!choice) return choice.error();
  choice_ = std::move(*choice);
  return {};
}

io::Result<void> Source::start_walk() {
  const CopySettings& settings = session_.settings();
  const SyncSettings& sync = settings.sync;
  const WalkLimits limits{.small_file_max = session_.terms().small_file_max,
                          .batch_bytes = std::min<std::uint64_t>(kBatchBytes, settings.chunk_bytes / 2),
                          .batch_items = sync.enabled ? kComparedItems : kBatchItems,
                          .compares = sync.enabled,
                          .digest_max = sync.checksum ? std::optional(session_.digest_max()) : std::nullopt};
  Plan& plan = session_.plan();
  if (sync.enabled) plan.compare_first();
  if (sync.delete_extra) walk_names();
  walker_ = std::make_unique<Walker>(plan, roots_.all(), choice_, limits, session_.reading());
  for (const Root& root : roots_.all()) {
    if (!root.opened || choice_.filter.hides(root.filter_path, false)) continue;
    FileTransferRef file = roots_.file_of(root);
    if (file == nullptr) continue;
    plan.count(1, file->opened().size);
    plan.add(std::move(file));
  }
  // Of a file's names the one that is met first is told as the file, and the others as links to it: one
  // thread meets them in the same order each time, so that a dry run tells what the run tells.
  const unsigned most = sync.tells() ? 1 : kWalkThreadsMax;
  return walker_->start(std::min(io::processors(), most));
}

// When all else is settled (--delete).
void Source::walk_names() {
  const Root* root = roots_.only_directory();
  if (root == nullptr) return;
  const SyncSettings& sync = session_.settings().sync;
  auto walk = std::make_unique<NamesWalk>(*root, choice_, sync.force, session_.reporter());
  const bool in_turn = sync.tells() && sync.max_delete != SyncSettings{}.max_delete;
  session_.plan().set_last_names([walk = walk.get()](NamesBatch& names) { return walk->take(names); },
                                 in_turn);
  session_.set_names_walk(std::move(walk));
}

void Source::land_beneath_parent() {
  const Root* root = roots_.only_directory();
  if (session_.sums() != nullptr && root != nullptr) session_.sums()->set_top(root->landing);
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
  return done;
}

}  // namespace rdcp::tree
