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

bool Plan::add(LargeFileRef file) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return waiting_.size() < kLargeFilesMax || stopped(); });
  if (stopped()) return false;
  waiting_.push_back(std::move(file));
  wake_workers();
  return true;
}

void Plan::add_grown(LargeFileRef file) {
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
  if (directory == nullptr || directory->pending.fetch_sub(1) != 1) return;
  if (directory->root->single) return;
  if (directory->readable && directory->to_finish) {
    finishable_.push_back(directory);
    wake_workers();
  } else {
    child_settled(directory->parent);
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
      LargeFile& file = *active_[i];
      const bool may_take = own ? file.worker == worker : file.worker == nullptr;
      if (!may_take || (file.reading && file.returned.empty())) {
        ++i;
        continue;
      }
      if (file.one_worker) file.worker = worker;
      if (take_extent_of(i, work)) return true;
    }
  }
  return false;
}

// True: an extent of the file, or its last step. False: it has no more extents, and is not active any longer.
bool Plan::take_extent_of(std::size_t index, Work& work) {
  work.file = active_[index];
  LargeFile& file = *work.file;
  work.kind = Work::Kind::extent;
  auto extent = next_extent(file);
  if (!extent && file.spans != Spans::none && !file.failed) {
    work.kind = Work::Kind::span;
    work.spans = file.spans;
    extent = next_span(file);
  }
  if (extent) {
    ++file.outstanding;
    work.extent = *extent;
    work.by_kernel = work.kind == Work::Kind::extent && file.by_kernel;
    return true;
  }
  file.exhausted = true;
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
  return file_over(work);
}

std::optional<io::Extent> Plan::next_extent(LargeFile& file) {
  if (file.failed) {
    file.returned.clear();
    return std::nullopt;
  }
  if (!file.returned.empty()) {
    io::Extent& back = file.returned.back();
    const std::uint64_t most = file.by_kernel ? by_kernel_bytes_ : extent_bytes_;
    const io::Extent extent{back.offset, std::min(back.length, most)};
    back.offset += extent.length;
    back.length -= extent.length;
    if (back.length == 0) file.returned.pop_back();
    return extent;
  }
  if (file.spans != Spans::none) return std::nullopt;
  if (!file.byte_stream) return file.extents->next(file.by_kernel ? by_kernel_bytes_ : extent_bytes_);
  if (file.exhausted) return std::nullopt;
  file.reading = true;
  return io::Extent{file.sent_bytes, extent_bytes_};
}

// With the mutex held: when nothing of work.file is out any more, work becomes its last piece.
bool Plan::file_over(Work& work) {
  const LargeFile& file = *work.file;
  if (!file.exhausted || file.outstanding > 0 || !file.returned.empty()) return false;
  work.kind = file.failed || file.differs ? Work::Kind::abandon : Work::Kind::commit;
  return true;
}

bool Plan::take_open(Work& work) {
  if (waiting_.empty() || open_files_ >= kOpenFilesMax) return false;
  ++open_files_;
  work.kind = Work::Kind::open;
  work.file = std::move(waiting_.front());
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
      directory->outgrown = false;
      item.directory = directory;
      work.batch.items.push_back(std::move(item));
      const DirectoryRef& parent = directory->parent;
      const bool follows = parent != nullptr && parent->readable && parent->to_finish &&
                           parent->pending.load() == 1 && work.batch.items.size() < kFinishBatch;
      if (follows)
        parent->pending.store(2);  // its own item is out: settling the child must not queue it again
      directory = follows ? parent : nullptr;
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

void Plan::opened(const LargeFileRef& file, const OpenAnswer& answer) {
  std::lock_guard lock(mutex_);
  --in_flight_;
  if (answer.usable) {
    file->one_worker = answer.one_worker;
    file->block_bytes = block_bytes_for(extent_bytes_);
    if (file->block_bytes > 0) file->spans = answer.spans;
    active_.push_back(file);
  } else if (--open_files_; answer.cannot_compare && (file->compares || !file->sends_holes)) {
    file->sends_holes = file->sends_holes || !file->compares;
    open_again(*file);
  } else {
    child_settled(file->item.waits());
  }
  wake_workers();
}

void Plan::stream_read(LargeFile& file, std::size_t bytes, bool at_end) {
  std::lock_guard lock(mutex_);
  file.reading = false;
  file.sent_bytes += bytes;
  file.exhausted = file.exhausted || at_end;
  wake_workers();
}

void Plan::ended_early(LargeFile& file, std::uint64_t end) {
  std::lock_guard lock(mutex_);
  file.end = std::min(file.end, end);
}

bool Plan::settle_extent(Work& work, bool failed, const net::Frame* data) {
  std::lock_guard lock(mutex_);
  LargeFile& file = *work.file;
  file.failed = file.failed || failed;
  if (data != nullptr) file.digest.add(data->offset, data->length, data->digest);
  return settle_part(work);
}

// With the mutex held: an extent or span is done with. True: work has become the file's last piece.
bool Plan::settle_part(Work& work) {
  --work.file->outstanding;
  // As long as the file is among the active ones, take() is who finds out that it has no more extents.
  const bool active = std::find(active_.begin(), active_.end(), work.file) != active_.end();
  if (!active && file_over(work)) return true;
  --in_flight_;
  wake_workers();
  return false;
}

void Plan::return_extent(Work& work) {
  std::lock_guard lock(mutex_);
  LargeFile& file = *work.file;
  file.by_kernel = false;
  file.worker = nullptr;  // it may be one whose stream is lost
  file.returned.push_back(work.extent);
  --file.outstanding;
  make_active(work.file);
  --in_flight_;
  wake_workers();
}

void Plan::settle_file(const LargeFileRef& file) {
  std::lock_guard lock(mutex_);
  --in_flight_;
  --open_files_;
  if (!file->failed && (file->read_again || (file->compares && file->differs))) {
    open_again(*file);
  } else {
    child_settled(file->item.waits());
  }
  wake_workers();
}

void Plan::lose_stream(std::size_t stream, const void* worker) {
  std::lock_guard lock(mutex_);
  given_back_.lose_stream(stream);
  for (const LargeFileRef& file : active_) {
    if (file->worker == worker) file->worker = nullptr;
  }
  wake_workers();
}

void Plan::give_back(Work work, std::size_t stream, const void* worker) {
  std::lock_guard lock(mutex_);
  if (work.file != nullptr && work.file->worker == worker) work.file->worker = nullptr;
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
