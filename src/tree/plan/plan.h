// The plan holds what is still to be done. It is the only object on the data path that the walker's threads
// and the workers share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
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
  // Which work is taken: any, or only what was lost with a stream and can be written at once by a target that
  // writes in order.
  enum class Kind : std::uint8_t { any, lost_in_turn };

  explicit Plan(const FilePieces::Limits& limits) : files_(limits) {}

  // Called before the first worker takes work.
  void set_extent_bytes(std::uint64_t bytes) { files_.set_extent_bytes(bytes); }
  // Has batches compared before any of their items is sent. Called before the walk.
  void compare_first() { batches_.compare_first(); }
  // Has names sent when all else is settled, as long as take(names) returns true. With in_turn only one batch
  // is under way at a time, because a limit makes each depend on the ones before. Called before the walk.
  void set_last_names(std::function<bool(NamesBatch& names)> take, bool in_turn);

  // For the walker. Returns false if the run was stopped.
  bool add(Batch batch);
  bool add(FileTransferRef file);
  // Adds a chunk that came from another host. Never blocks; a plan that has stopped drops it.
  void add(PassTask task);
  // Adds a file that a worker found to be no longer small. Never blocks.
  void add_grown(FileTransferRef file);
  // Further names of files are sent when all else is settled, because their first name must be there.
  LinkedFiles& linked() { return linked_; }
  void count(std::uint64_t files, std::uint64_t bytes);
  void discount(std::uint64_t files, std::uint64_t bytes);  // takes off what need not be copied after all
  void walk_finished();
  // Notes that a directory is listed, where not all of its children went into one batch with it.
  void listed(const DirectoryRef& directory);

  // For workers. `wait` means to look again when the ring is woken (see subscribe), `none` that all is
  // settled or the run was stopped. `worker` identifies the caller: any address of its own.
  // kind: see Kind.
  Next take(Work& work, const void* worker, Kind kind = Kind::any);
  // Each task that was taken comes back through one of these, or give_back(). Returns true if the whole batch
  // is settled.
  bool settle_batch(Batch& batch);
  void settle_passed();
  // Notes that all of the batch has been compared. Returns false if the plan keeps it until all batches
  // before it are compared, too, so that nothing changes beneath a directory that is not compared yet.
  bool settle_comparison(Batch& batch);
  void settle_names(const NamesBatch& names);
  std::uint64_t first_serial() const;  // the lowest serial of which pages may still be sent
  void settle_open(const FileTransferRef& file, const OpenAnswer& answer);
  void settle_last_step(const FileTransferRef& file);
  // Returns the file's commit or abandon, for the caller to do, if that was the last of its pieces.
  std::optional<Task> settle_extent(const FileTransferRef& file, const PieceAnswer& answer);
  std::optional<Task> settle_span(const FileTransferRef& file, Spans asked, const PieceAnswer& answer);
  // Returns an extent that the kernel cannot copy; it is handed out again, to be sent.
  void return_extent(const FileTransferRef& file, const io::Extent& extent);
  // Called while a piece is still out; see FileTransfer.
  void stream_read(FileTransfer& file, std::size_t bytes, bool at_end);
  void chunks_cut(FileTransfer& file, std::uint64_t bytes);
  void end_early(FileTransfer& file, std::uint64_t end);

  // Notes that the worker's stream, the one of this index, is lost. The target is told over another one, and
  // the worker gives back what it has under way, which is handed out again when the target has answered.
  void lose_stream(std::size_t stream, const void* worker);
  void give_back(Task task, std::size_t stream, const void* worker);
  void settle_lost(std::size_t stream);
  // Notes that the worker takes nothing for a while: others may take pieces of the files that belonged to it.
  void rest(const void* worker);

  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  PlanTotals totals() const;

  // Subscribes a worker's ring. It is woken, and changes() grows, when a take() that said `wait` may now say
  // something else.
  void subscribe(io::Ring* ring);
  void unsubscribe(io::Ring* ring);
  std::uint64_t changes() const { return bell_.changes(); }

 private:
  std::optional<Work> next_work(const void* worker, Kind kind);
  std::optional<Work> last_work();
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
  std::deque<PassTask> passed_;
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
