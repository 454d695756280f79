#include "tree/walk/source_walk.h"

#include <algorithm>
#include <utility>

#include "net/stream/verdicts.h"

namespace rdcp::tree {

namespace {

// About how full an archive chunk should be: smaller ones cost round trips, larger ones keep the other side
// waiting.
constexpr std::uint64_t kBatchBytes = 512 << 10;
constexpr std::size_t kBatchItems = 512;
constexpr std::size_t kComparedItems = net::Verdicts::kCount;  // a page, most of the time
constexpr unsigned kWalkThreadsMax = 2;

}  // namespace

SourceWalk::SourceWalk(const SourceJob& job, const SourceWishes& wishes, const StandardStreams& standard,
                       Reporter& reporter)
    : job_(job), reporter_(reporter), roots_(job, wishes, standard, reporter) {}

io::Result<void> SourceWalk::choose(NamedPaths names) {
  const bool recursive = job_.recursive || !job_.selection.named_only;
  auto choice = Choice::create(job_.selection, recursive, std::move(names));
  if (!choice) return choice.error();
  choice_ = std::move(*choice);
  return {};
}

io::Result<void> SourceWalk::start(Plan& plan, const ReadContext& reading, std::uint64_t small_file_max,
                                   std::uint64_t digest_max) {
  const CopySettings& settings = job_.settings;
  const SyncSettings& sync = settings.sync;
  const WalkLimits limits{.small_file_max = small_file_max,
                          .batch_bytes = std::min<std::uint64_t>(kBatchBytes, settings.chunk_bytes / 2),
                          .batch_items = sync.enabled ? kComparedItems : kBatchItems,
                          .compares = sync.enabled,
                          .digest_max = sync.checksum ? std::optional(digest_max) : std::nullopt};
  if (sync.enabled) plan.compare_first();
  walker_ = std::make_unique<Walker>(plan, roots_.all(), choice_, limits, reading);
  for (const Root& root : roots_.all()) {
    if (!root.opened || choice_.filter.hides(root.filter_path, false)) continue;
    auto file = roots_.file_of(root);
    if (file == nullptr) continue;
    plan.count(1, file->opened().size);
    plan.add(std::move(file));
  }
  // The first name of a file that is met is told as the file, and the others as links to it. One thread meets
  // them in the same order each time, so a dry run tells what the run tells.
  const unsigned most = sync.tells() ? 1 : kWalkThreadsMax;
  return walker_->start(std::min(io::processors(), most));
}

std::unique_ptr<NamesWalk> SourceWalk::names_walk() const {
  const Root* root = roots_.only_directory();
  const SyncSettings& sync = job_.settings.sync;
  if (!sync.delete_extra || root == nullptr) return nullptr;
  return std::make_unique<NamesWalk>(*root, choice_, sync.force, reporter_);
}

const std::string* SourceWalk::only_landing() const {
  const Root* root = roots_.only_directory();
  return root == nullptr ? nullptr : &root->landing;
}

}  // namespace rdcp::tree
