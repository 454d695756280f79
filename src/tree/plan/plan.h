// What is still to be done, shared by the walker's threads and the workers: the only thing on the data path
// that is.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "tree/plan/batch_queue.h"
#include "tree/plan/file_queue.h"
#include "tree/plan/linked_files.h"
#include "tree/plan/retransmit_queue.h"
#include "tree/plan/task.h"
#include "tree/plan/worker_bell.h"

namespace rdcp::tree {

// Totals as far as they are known.
struct PlanTotals {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool complete = false;
};

// A bounded queue: add() blocks the walker while enough is waiting. Thread-safe.
class Plan {
 public:
  enum class Next : std::uint8_t { work, wait, none };

  explicit Plan(const FilePieces::Limits& limits) : files_(limits) {}

  // Before the first worker takes work.
  void set_extent_bytes(std::uint64_t bytes) { files_.set_extent_bytes(bytes); }
  // Before the walk: batches are compared before anything of them is sent.
  void compare_first() { batches_.compare_first(); }
  // Before the walk: names to be told when all else is settled, as long as take(names) says that there are
  // some. in_turn: one after the other, because a limit makes one depend on others.
  void set_last_names(std::function<bool(NamesBatch& names)> take, bool in_turn);

  // Walker. False: the run was stopped.
  bool add(Batch batch);
  bool add(FileTransferRef file);
  // A worker's find: a file that is no longer small. Never blocks.
  void add_grown(FileTransferRef file);
  // Further names of files are sent when all else is settled, because their first name must be there.
  LinkedFiles& linked() { return linked_; }
  void count(std::uint64_t files, std::uint64_t bytes);
  void discount(std::uint64_t files, std::uint64_t bytes);  // what need not be copied after all
  void walk_finished();
  // The listing of a directory is over, and not all of its children went into one batch with it.
  void listed(const DirectoryRef& directory);

  // Workers. wait: look again when the ring is woken (see subscribe); none: all is settled, or the run was
  // stopped. worker: who asks, any address of its own.
  Next take(Work& work, const void* worker);
  // Each task that was taken comes back through one of these, or give_back(). True: that was all of it.
  bool settle_batch(Batch& batch);
  // All of the batch has been compared. False: it is left here until all batches before it are compared, too;
  // so nothing changes at the target beneath a directory before that has been compared itself.
  bool settle_comparison(Batch& batch);
  void settle_names(const NamesBatch& names);
  std::uint64_t first_serial() const;  // the lowest of which pages may still be sent
  void settle_open(const FileTransferRef& file, const OpenAnswer& answer);
  void settle_last_step(const FileTransferRef& file);
  // The file's commit or abandon, to be done by the caller, if that was the last of its pieces.
  std::optional<Task> settle_extent(const FileTransferRef& file, const PieceAnswer& answer);
  std::optional<Task> settle_span(const FileTransferRef& file, Spans asked, const PieceAnswer& answer);
  // The kernel cannot copy an extent, which comes again to be sent.
  void return_extent(const FileTransferRef& file, const io::Extent& extent);
  // While a piece is still out: see FileTransfer.
  void stream_read(FileTransfer& file, std::size_t bytes, bool at_end);
  void chunks_cut(FileTransfer& file, std::uint64_t bytes);
  void end_early(FileTransfer& file, std::uint64_t end);

  // The worker's stream, the one of this index, is lost: the target is to be told over another one, and the
  // worker gives back what it has under way. That is handed out again when the target has answered.
  void lose_stream(std::size_t stream, const void* worker);
  void give_back(Task task, std::size_t stream, const void* worker);
  void settle_lost(std::size_t stream);

  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  PlanTotals totals() const;

  // A worker's ring, woken when a take() that said wait may say something else: changes() is another then.
  void subscribe(io::Ring* ring);
  void unsubscribe(io::Ring* ring);
  std::uint64_t changes() const { return bell_.changes(); }

 private:
  std::optional<Work> next_work(const void* worker);
  std::optional<Task> take_batch();
  std::optional<Task> take_open();
  std::optional<Task> take_last_names();
  void make_link_batches();
  bool all_settled() const;
  void settle_one();
  void settle_child(const DirectoryRef& directory);

  mutable std::mutex mutex_;
  std::condition_variable room_;
  BatchQueue batches_;
  FileQueue files_;
  LinkedFiles linked_;
  RetransmitQueue retransmits_;
  WorkerBell bell_;
  bool prefer_batch_ = false;
  bool walk_over_ = false;
  std::size_t in_flight_ = 0;
  std::function<bool(NamesBatch&)> take_names_;
  bool names_in_turn_ = false;
  std::size_t names_in_flight_ = 0;
  std::atomic<bool> stopped_{false};
  PlanTotals totals_;
};

}  // namespace rdcp::tree
