#include "tree/plan/file_queue.h"

#include <algorithm>
#include <utility>

namespace rdcp::tree {

namespace {

Task task_for(FileTransferRef file, const Piece& piece) {
  switch (piece.spans) {
    case Spans::none:
      if (piece.by_kernel) return CopyRangeTask{std::move(file), piece.extent};
      return DataTask{std::move(file), piece.extent};
    case Spans::chunks:
      return ChunksTask{std::move(file), piece.extent, {}};
    case Spans::ask:
      return AskTask{std::move(file), piece.extent};
    case Spans::probe:
    case Spans::like:
      break;
  }
  return ProbeTask{std::move(file), piece.extent, piece.spans, {}};
}

std::optional<Task> last_step_of(const FileTransferRef& file) {
  switch (file->last_step()) {
    case FileTransfer::LastStep::commit:
      return CommitTask{.file = file};
    case FileTransfer::LastStep::abandon:
      return AbandonTask{file};
    case FileTransfer::LastStep::none:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Task> FileQueue::take_piece(const void* worker) {
  // A worker's own files first: another one's are never its to take, and those that are nobody's can wait.
  for (const void* owner : {worker, static_cast<const void*>(nullptr)}) {
    for (std::size_t i = 0; i < active_.size();) {
      const FileTransferRef file = active_[i];
      if (!file->belongs_to(owner) || file->waits()) {
        ++i;
        continue;
      }
      if (const auto piece = file->take(worker, limits_)) return task_for(file, *piece);
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
      if (auto step = last_step_of(file)) return step;
    }
  }
  return std::nullopt;
}

std::optional<Task> FileQueue::take_open() {
  if (waiting_.empty() || open_ >= kOpenMax) return std::nullopt;
  ++open_;
  OpenTask task{std::move(waiting_.front())};
  waiting_.pop_front();
  task.file->set_id(next_id_++);
  return task;
}

bool FileQueue::settle_open(const FileTransferRef& file, const OpenAnswer& answer) {
  if (answer.usable) {
    file->begin(answer, block_bytes_for(limits_.extent_bytes));
    active_.push_back(file);
    return false;
  }
  --open_;
  FileTransferRef again = file->reopened_for(answer);
  if (again == nullptr) return true;
  waiting_.push_front(std::move(again));
  return false;
}

bool FileQueue::settle_last_step(const FileTransferRef& file) {
  --open_;
  if (!file->begins_anew()) return true;
  waiting_.push_front(file->anew());
  return false;
}

std::optional<Task> FileQueue::settle_extent(const FileTransferRef& file, const PieceAnswer& answer) {
  file->settle_extent(answer);
  return last_step_if_over(file);
}

std::optional<Task> FileQueue::settle_span(const FileTransferRef& file, Spans asked,
                                           const PieceAnswer& answer) {
  if (file->settle_span(asked, answer)) make_active(file);
  return last_step_if_over(file);
}

void FileQueue::return_extent(const FileTransferRef& file, const io::Extent& extent) {
  file->return_extent(extent);
  make_active(file);
}

// As long as the file is among the active ones, take_piece() is who finds out that it has no more pieces.
std::optional<Task> FileQueue::last_step_if_over(const FileTransferRef& file) const {
  return is_active(file) ? std::nullopt : last_step_of(file);
}

void FileQueue::leave(const void* worker) {
  for (const FileTransferRef& file : active_) file->leave(worker);
}

bool FileQueue::is_active(const FileTransferRef& file) const {
  return std::ranges::find(active_, file) != active_.end();
}

// Puts the file first, because the pieces to be taken again have just been read.
void FileQueue::make_active(const FileTransferRef& file) {
  if (!is_active(file)) active_.push_front(file);
}

}  // namespace rdcp::tree
