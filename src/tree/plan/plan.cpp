#include "tree/plan/plan.h"

#include <algorithm>
#include <utility>

namespace rdcp::tree {

bool Plan::add(Batch batch) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return queued_items_ < kQueuedItemsMax || stopped(); });
  if (stopped()) return false;
  queued_items_ += batch.items.size();
  if (compare_first_) order_.number(batch);
  batches_.push_back(std::move(batch));
  wake_workers();
  return true;
}

bool Plan::add(FileTransferRef file) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return waiting_.size() < kLargeFilesMax || stopped(); });
  if (stopped()) return false;
  waiting_.push_back(std::move(file));
  wake_workers();
  return true;
}

void Plan::add_grown(FileTransferRef file) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(file));
  wake_workers();
}

void Plan::add_link(Item item) {
  std::lock_guard lock(mutex_);
  links_.push_back(std::move(item));
}

void Plan::count(std::uint64_t files, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  totals_.files += files;
  totals_.bytes += bytes;
}

void Plan::walk_finished() {
  std::lock_guard lock(mutex_);
  walk_over_ = true;
  totals_.complete = true;
  wake_workers();
}

void Plan::listed(const DirectoryRef& directory) {
  std::lock_guard lock(mutex_);
  child_settled(directory);
}

// With the mutex held: one of the directory's children is done with (or its listing).
void Plan::child_settled(const DirectoryRef& directory) {
  if (directory == nullptr || !directory->settle_child() || directory->root().single) return;
  if (directory->is_to_be_finished()) {
    finishable_.push_back(directory);
    wake_workers();
  } else {
    child_settled(directory->parent());
  }
}

Plan::Next Plan::take(Work& work, const void* worker) {
  std::lock_guard lock(mutex_);
  if (stopped()) return Next::none;
  work = {};
  // Large files first, because they fill disks and networks best; but every other time a batch, so that the
  // walker, which may have more large files to find, is not held up behind a queue of small ones.
  prefer_batch_ = !prefer_batch_;
  bool found = given_back_.take(work) || take_compared(work) || (prefer_batch_ && take_batch(work));
  if (found && work.kind == Work::Kind::names) ++last_in_flight_;  // it was given back
  found = found || take_extent(work, worker) || take_open(work) || take_batch(work) || take_finish(work);
  if (!found && all_settled()) {
    make_link_batches();
    found = take_batch(work) || take_last(work);
    if (!found && in_flight_ == 0) return Next::none;
  }
  if (!found) {
    ++waiting_takers_;
    return Next::wait;
  }
  ++in_flight_;
  return Next::work;
}

// With the mutex held: only hard links may be left. A file without anything in flight can still be active, if
// another worker is just about to take its next extent.
bool Plan::all_settled() const {
  return walk_over_ && in_flight_ == last_in_flight_ && open_files_ == 0 && waiting_.empty() &&
         given_back_.empty() && order_.empty();
}

bool Plan::take_extent(Work& work, const void* worker) {
  // A worker's own files first: another one's are never its to take, and those that are nobody's can wait.
  for (const bool own : {true, false}) {
    for (std::size_t i = 0; i < active_.size();) {
      const FileTransfer& file = *active_[i];
      if (!file.belongs_to(own ? worker : nullptr) || file.waits()) {
        ++i;
        continue;
      }
      if (take_extent_of(i, work, worker)) return true;
    }
  }
  return false;
}

// True: an extent of the file, or its last step. False: it has no more extents, and is not active any longer.
bool Plan::take_extent_of(std::size_t index, Work& work, const void* worker) {
  work.file = active_[index];
  if (const auto piece = work.file->take(worker, limits_)) {
    work.kind = piece->spans == Spans::none ? Work::Kind::extent : Work::Kind::span;
    work.extent = piece->extent;
    work.spans = piece->spans;
    work.by_kernel = piece->by_kernel;
    return true;
  }
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
  return file_over(work);
}

// With the mutex held: when nothing of work.file is out any more, work becomes its last piece.
bool Plan::file_over(Work& work) {
  const FileTransfer::LastStep step = work.file->last_step();
  if (step == FileTransfer::LastStep::none) return false;
  work.kind = step == FileTransfer::LastStep::abandon ? Work::Kind::abandon : Work::Kind::commit;
  return true;
}

bool Plan::take_open(Work& work) {
  if (waiting_.empty() || open_files_ >= kOpenFilesMax) return false;
  ++open_files_;
  work.kind = Work::Kind::open;
  work.file = std::move(waiting_.front());
  work.file->set_id(next_file_id_++);
  waiting_.pop_front();
  room_.notify_all();
  return true;
}

bool Plan::take_batch(Work& work) {
  if (batches_.empty()) return false;
  if (compare_first_) {
    // What is found to be different must not pile up faster than it is sent.
    if (order_.waiting_items() >= kQueuedItemsMax || waiting_.size() >= kLargeFilesMax) return false;
    order_.begin(batches_.front());
  }
  work.kind = Work::Kind::batch;
  work.batch = std::move(batches_.front());
  batches_.pop_front();
  queued_items_ -= work.batch.items.size();
  room_.notify_all();
  return true;
}

bool Plan::take_finish(Work& work) {
  if (finishable_.empty()) return false;
  work.kind = Work::Kind::batch;
  while (!finishable_.empty() && work.batch.items.size() < kFinishBatch) {
    DirectoryRef directory = std::move(finishable_.front());
    finishable_.pop_front();
    // A parent whose last open child is this very item follows it in the same archive, which spares a round
    // trip for each level. Its count stays: the child is settled with the batch, and then so is the parent.
    while (directory != nullptr) {
      Item item;
      item.kind = Item::Kind::finish;
      directory->begin_finish();
      item.directory = directory;
      work.batch.items.push_back(std::move(item));
      const DirectoryRef& parent = directory->parent();
      const bool room = work.batch.items.size() < kFinishBatch;
      directory = parent != nullptr && room && parent->finish_behind_last_child() ? parent : nullptr;
    }
  }
  return true;
}

// Names that wait for another one, which takes the first one's place now, stay for the next round.
void Plan::make_link_batches() {
  constexpr std::size_t kLinksInBatch = 256;
  if (links_.empty()) return;
  linked_.begin_round();
  Batch batch;
  const auto hand_out = [&] {
    queued_items_ += batch.items.size();
    if (compare_first_) order_.number(batch);
    batches_.push_back(std::exchange(batch, {}));
  };
  for (std::size_t left = links_.size(); left > 0; --left) {
    Item item = std::move(links_.front());
    links_.pop_front();
    const LinkedFiles::Turn turn = linked_.turn_of(item);
    if (turn == LinkedFiles::Turn::wait) {
      links_.push_back(std::move(item));
      continue;
    }
    if (turn == LinkedFiles::Turn::copy) {
      item.kind = Item::Kind::entry;
      if (S_ISREG(item.status.st_mode)) totals_.bytes += static_cast<std::uint64_t>(item.status.st_size);
    }
    batch.items.push_back(std::move(item));
    if (batch.items.size() == kLinksInBatch) hand_out();
  }
  if (!batch.items.empty()) hand_out();
}

bool Plan::settle_batch(Batch& batch) {
  std::lock_guard lock(mutex_);
  for (; batch.settled < batch.next; ++batch.settled) {
    child_settled(batch.items[batch.settled].waits());
  }
  const bool last = batch.settled == batch.items.size();
  if (last) {
    --in_flight_;
    wake_workers();
  }
  return last;
}

void Plan::opened(const FileTransferRef& file, const OpenAnswer& answer) {
  std::lock_guard lock(mutex_);
  --in_flight_;
  if (answer.usable) {
    file->begin(answer, block_bytes_for(limits_.extent_bytes));
    active_.push_back(file);
  } else {
    --open_files_;
    if (FileTransferRef again = file->reopened_for(answer)) {
      waiting_.push_front(std::move(again));
    } else {
      child_settled(file->item().waits());
    }
  }
  wake_workers();
}

void Plan::stream_read(FileTransfer& file, std::size_t bytes, bool at_end) {
  std::lock_guard lock(mutex_);
  file.stream_read(bytes, at_end);
  wake_workers();
}

void Plan::ended_early(FileTransfer& file, std::uint64_t end) {
  std::lock_guard lock(mutex_);
  file.end_early(end);
}

bool Plan::settle_extent(Work& work, const PieceAnswer& answer) {
  std::lock_guard lock(mutex_);
  work.file->settle_extent(answer);
  return settle_part(work);
}

void Plan::chunks_read(FileTransfer& file, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  file.chunks_cut(bytes);
  wake_workers();
}

bool Plan::settle_span(Work& work, const PieceAnswer& answer) {
  std::lock_guard lock(mutex_);
  if (work.file->settle_span(work.spans, answer)) make_active(work.file);
  return settle_part(work);
}

// With the mutex held.
void Plan::make_active(const FileTransferRef& file) {
  if (std::find(active_.begin(), active_.end(), file) == active_.end()) active_.push_front(file);
}

// With the mutex held: an extent or span is done with. True: work has become the file's last piece.
bool Plan::settle_part(Work& work) {
  // As long as the file is among the active ones, take() is who finds out that it has no more extents.
  const bool active = std::find(active_.begin(), active_.end(), work.file) != active_.end();
  if (!active && file_over(work)) return true;
  --in_flight_;
  wake_workers();
  return false;
}

void Plan::return_extent(Work& work) {
  std::lock_guard lock(mutex_);
  work.file->return_extent(work.extent);
  make_active(work.file);
  --in_flight_;
  wake_workers();
}

void Plan::settle_file(const FileTransferRef& file) {
  std::lock_guard lock(mutex_);
  --in_flight_;
  --open_files_;
  if (file->begins_anew()) {
    waiting_.push_front(file->anew());
  } else {
    child_settled(file->item().waits());
  }
  wake_workers();
}

void Plan::lose_stream(std::size_t stream, const void* worker) {
  std::lock_guard lock(mutex_);
  given_back_.lose_stream(stream);
  for (const FileTransferRef& file : active_) file->leave(worker);
  wake_workers();
}

void Plan::give_back(Work work, std::size_t stream, const void* worker) {
  std::lock_guard lock(mutex_);
  if (work.file != nullptr) work.file->leave(worker);
  work.batch.next = work.batch.settled;
  if (work.kind == Work::Kind::names) --last_in_flight_;
  given_back_.add(stream, std::move(work));
  --in_flight_;
  wake_workers();
}

void Plan::settle_lost(std::size_t stream) {
  std::lock_guard lock(mutex_);
  given_back_.confirm(stream);
  --in_flight_;
  wake_workers();
}

void Plan::stop() {
  stopped_ = true;
  std::lock_guard lock(mutex_);
  room_.notify_all();
  waiting_takers_ = 1;
  wake_workers();
}

PlanTotals Plan::totals() const {
  std::lock_guard lock(mutex_);
  return totals_;
}

void Plan::subscribe(io::Ring* ring) {
  std::lock_guard lock(mutex_);
  rings_.push_back(ring);
}

void Plan::unsubscribe(io::Ring* ring) {
  std::lock_guard lock(mutex_);
  std::erase(rings_, ring);
}

// With the mutex held.
void Plan::wake_workers() {
  if (waiting_takers_ == 0) return;
  waiting_takers_ = 0;
  changes_.fetch_add(1, std::memory_order_release);
  for (io::Ring* ring : rings_) ring->wake();
}

}  // namespace rdcp::tree
