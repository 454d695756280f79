// The large files of a plan: those that wait to be opened, and those whose pieces are handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "tree/plan/task.h"

namespace rdcp::tree {

// Part of the plan, behind its mutex.
class FileQueue {
 public:
  explicit FileQueue(const FilePieces::Limits& limits) : limits_(limits) {}
  void set_extent_bytes(std::uint64_t bytes) { limits_.extent_bytes = bytes; }

  void add(FileTransferRef file) { waiting_.push_back(std::move(file)); }
  bool is_full() const { return waiting_.size() >= kWaitingMax; }
  // Whether no file waits, and none is open.
  bool is_empty() const { return waiting_.empty() && open_ == 0; }

  // Returns a piece of an open file, or a file's last step.
  std::optional<Task> take_piece(const void* worker);
  std::optional<Task> take_open();

  // The functions below take back what was handed out. A bool is true if nothing more comes of the file.
  bool settle_open(const FileTransferRef& file, const OpenAnswer& answer);
  bool settle_last_step(const FileTransferRef& file);
  // Returns the file's last step, if that was the last of its pieces.
  std::optional<Task> settle_extent(const FileTransferRef& file, const PieceAnswer& answer);
  std::optional<Task> settle_span(const FileTransferRef& file, Spans asked, const PieceAnswer& answer);
  void return_extent(const FileTransferRef& file, const io::Extent& extent);
  // Called for a worker that takes no more: others may take pieces of the files that belonged to it.
  void leave(const void* worker);

  static constexpr std::size_t kWaitingMax = 1024;
  static constexpr std::size_t kOpenMax = 16;

 private:
  bool is_active(const FileTransferRef& file) const;
  void make_active(const FileTransferRef& file);
  std::optional<Task> last_step_if_over(const FileTransferRef& file) const;

  FilePieces::Limits limits_;
  std::uint64_t next_id_ = 1;
  std::deque<FileTransferRef> waiting_;
  std::deque<FileTransferRef> active_;  // open, and there may be pieces to take
  std::size_t open_ = 0;
};

}  // namespace rdcp::tree
