#include "tree/plan/plan.h"

#include <utility>

namespace rdcp::tree {

void Plan::set_last_names(std::function<bool(NamesBatch& names)> take, bool in_turn) {
  take_names_ = std::move(take);
  names_in_turn_ = in_turn;
}

bool Plan::add(Batch batch) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return !batches_.is_full() || stopped(); });
  if (stopped()) return false;
  batches_.add(std::move(batch));
  bell_.ring();
  return true;
}

bool Plan::add(FileTransferRef file) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return !files_.is_full() || stopped(); });
  if (stopped()) return false;
  files_.add(std::move(file));
  bell_.ring();
  return true;
}

void Plan::add(PassTask task) {
  std::lock_guard lock(mutex_);
  if (stopped()) return;
  passed_.push_back(std::move(task));
  bell_.ring();
}

void Plan::add_grown(FileTransferRef file) {
  std::lock_guard lock(mutex_);
  files_.add(std::move(file));
  bell_.ring();
}

void Plan::count(std::uint64_t files, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  totals_.files += files;
  totals_.bytes += bytes;
}

void Plan::discount(std::uint64_t files, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  totals_.files -= files;
  totals_.bytes -= bytes;
}

void Plan::walk_finished() {
  std::lock_guard lock(mutex_);
  walk_over_ = true;
  totals_.complete = true;
  bell_.ring();
}

void Plan::listed(const DirectoryRef& directory) {
  std::lock_guard lock(mutex_);
  settle_child(directory);
}

// Notes that one of the directory's children, or its listing, is settled. The caller holds the mutex.
void Plan::settle_child(const DirectoryRef& directory) {
  if (directory == nullptr || !directory->settle_child() || directory->root().single) return;
  if (directory->is_to_be_finished()) {
    batches_.add_finish(directory);
    bell_.ring();
  } else {
    settle_child(directory->parent());
  }
}

Plan::Next Plan::take(Work& work, const void* worker, Kind kind) {
  std::lock_guard lock(mutex_);
  if (stopped()) return Next::none;
  auto next = next_work(worker, kind);
  if (!next && all_settled()) {
    if (kind == Kind::any) next = last_work();
    if (!next && in_flight_ == 0) return Next::none;
  }
  if (!next) {
    bell_.note_waiting();
    return Next::wait;
  }
  work = std::move(*next);
  ++in_flight_;
  return Next::work;
}

// The caller holds the mutex. Large files come first, because they fill disks and networks best; but every
// other time a batch, so that the walker, which may have more large files to find, is not held up behind a
// queue of small ones.
std::optional<Work> Plan::next_work(const void* worker, Kind kind) {
  if (auto again = retransmits_.take(kind == Kind::lost_in_turn)) {
    if (std::holds_alternative<NamesTask>(again->task)) ++names_in_flight_;
    return again;
  }
  if (kind == Kind::lost_in_turn) return std::nullopt;
  prefer_batch_ = !prefer_batch_;
  if (!passed_.empty()) {
    Work work{std::move(passed_.front())};
    passed_.pop_front();
    return work;
  }
  std::optional<Task> task = batches_.take_compared();
  if (!task && prefer_batch_) task = take_batch();
  if (!task) task = files_.take_piece(worker);
  if (!task) task = take_open();
  if (!task) task = take_batch();
  if (!task) task = batches_.take_finish();
  if (!task) return std::nullopt;
  return Work{std::move(*task)};
}

// Returns what may come only when all else is settled. The caller holds the mutex.
std::optional<Work> Plan::last_work() {
  make_link_batches();
  std::optional<Task> task = take_batch();
  if (!task) task = take_last_names();
  if (!task) return std::nullopt;
  return Work{std::move(*task)};
}

// The caller holds the mutex. Items that were found to differ must not pile up faster than they are sent.
std::optional<Task> Plan::take_batch() {
  std::optional<Task> task = batches_.take(!files_.is_full());
  if (task) room_.notify_all();
  return task;
}

// The caller holds the mutex.
std::optional<Task> Plan::take_open() {
  std::optional<Task> task = files_.take_open();
  if (task) room_.notify_all();
  return task;
}

// The caller holds the mutex. Returns true if only hard links may be left. A file without anything in flight
// can still be open, if another worker is just about to take its next piece.
bool Plan::all_settled() const {
  return walk_over_ && in_flight_ == names_in_flight_ && files_.is_empty() && retransmits_.empty() &&
         passed_.empty() && batches_.order().empty();
}

// The caller holds the mutex.
std::optional<Task> Plan::take_last_names() {
  if (!take_names_ || (names_in_turn_ && names_in_flight_ > 0)) return std::nullopt;
  NamesTask task;
  if (!take_names_(task.names)) {
    take_names_ = nullptr;
    return std::nullopt;
  }
  batches_.order().begin(task.names);
  ++names_in_flight_;
  return task;
}

// The caller holds the mutex. A name that takes the place of a file's first one is copied, which is more to
// do.
void Plan::make_link_batches() {
  std::vector<Item> links = linked_.next_round();
  for (const Item& item : links) {
    if (item.kind == Item::Kind::entry && S_ISREG(item.status.st_mode))
      totals_.bytes += static_cast<std::uint64_t>(item.status.st_size);
  }
  batches_.add_links(std::move(links));
}

// Notes that a task has come back. The caller holds the mutex.
void Plan::settle_one() {
  --in_flight_;
  bell_.ring();
}

bool Plan::settle_batch(Batch& batch) {
  std::lock_guard lock(mutex_);
  for (; batch.settled < batch.next; ++batch.settled) settle_child(batch.items[batch.settled].waits());
  const bool last = batch.settled == batch.items.size();
  if (last) settle_one();
  return last;
}

void Plan::settle_passed() {
  std::lock_guard lock(mutex_);
  settle_one();
}

bool Plan::settle_comparison(Batch& batch) {
  std::lock_guard lock(mutex_);
  bell_.ring();
  if (batches_.order().end(batch)) return true;
  --in_flight_;
  return false;
}

void Plan::settle_names(const NamesBatch& names) {
  std::lock_guard lock(mutex_);
  batches_.order().end(names);
  --names_in_flight_;
  settle_one();
}

std::uint64_t Plan::first_serial() const {
  std::lock_guard lock(mutex_);
  return batches_.order().first();
}

void Plan::settle_open(const FileTransferRef& file, const OpenAnswer& answer) {
  std::lock_guard lock(mutex_);
  if (files_.settle_open(file, answer)) settle_child(file->item().waits());
  settle_one();
}

void Plan::settle_last_step(const FileTransferRef& file) {
  std::lock_guard lock(mutex_);
  if (files_.settle_last_step(file)) settle_child(file->item().waits());
  settle_one();
}

std::optional<Task> Plan::settle_extent(const FileTransferRef& file, const PieceAnswer& answer) {
  std::lock_guard lock(mutex_);
  std::optional<Task> last_step = files_.settle_extent(file, answer);
  if (!last_step) settle_one();
  return last_step;
}

std::optional<Task> Plan::settle_span(const FileTransferRef& file, Spans asked, const PieceAnswer& answer) {
  std::lock_guard lock(mutex_);
  std::optional<Task> last_step = files_.settle_span(file, asked, answer);
  if (!last_step) settle_one();
  return last_step;
}

void Plan::return_extent(const FileTransferRef& file, const io::Extent& extent) {
  std::lock_guard lock(mutex_);
  files_.return_extent(file, extent);
  settle_one();
}

void Plan::stream_read(FileTransfer& file, std::size_t bytes, bool at_end) {
  std::lock_guard lock(mutex_);
  file.stream_read(bytes, at_end);
  bell_.ring();
}

void Plan::chunks_cut(FileTransfer& file, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  file.chunks_cut(bytes);
  bell_.ring();
}

void Plan::end_early(FileTransfer& file, std::uint64_t end) {
  std::lock_guard lock(mutex_);
  file.end_early(end);
}

void Plan::lose_stream(std::size_t stream, const void* worker) {
  std::lock_guard lock(mutex_);
  retransmits_.lose_stream(stream);
  files_.leave(worker);
  bell_.ring();
}

void Plan::rest(const void* worker) {
  std::lock_guard lock(mutex_);
  files_.leave(worker);
  bell_.ring();
}

void Plan::give_back(Task task, std::size_t stream, const void* worker) {
  std::lock_guard lock(mutex_);
  if (FileTransfer* file = file_of(task)) file->leave(worker);
  if (auto* pack = std::get_if<PackTask>(&task)) pack->batch.next = pack->batch.settled;
  if (std::holds_alternative<NamesTask>(task)) --names_in_flight_;
  if (!stopped()) retransmits_.add(stream, std::move(task));
  settle_one();
}

void Plan::settle_lost(std::size_t stream) {
  std::lock_guard lock(mutex_);
  if (!stopped()) retransmits_.confirm(stream);
  settle_one();
}

void Plan::stop() {
  stopped_ = true;
  std::lock_guard lock(mutex_);
  passed_.clear();
  retransmits_ = {};
  room_.notify_all();
  bell_.note_waiting();
  bell_.ring();
}

PlanTotals Plan::totals() const {
  std::lock_guard lock(mutex_);
  return totals_;
}

void Plan::subscribe(io::Ring* ring) {
  std::lock_guard lock(mutex_);
  bell_.subscribe(ring);
}

void Plan::unsubscribe(io::Ring* ring) {
  std::lock_guard lock(mutex_);
  bell_.unsubscribe(ring);
}

}  // namespace rdcp::tree
