// What is still to be done, shared by the walker's threads and the workers: the only thing on the data path
// that is.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "io/ring.h"
#include "net/stream/frame.h"
#include "tree/plan/compare_order.h"
#include "tree/plan/linked_files.h"
#include "tree/plan/retransmit_queue.h"
#include "tree/plan/work.h"

namespace rdcp::tree {

// Thread-safe. Bounded: add() blocks the walker while enough is waiting.
class Plan {
 public:
  enum class Next : std::uint8_t { work, wait, none };

  // extent_bytes: the most that a data chunk carries. by_kernel_bytes: the most that one copy_range covers.
  Plan(std::uint64_t extent_bytes, std::uint64_t by_kernel_bytes) : limits_{extent_bytes, by_kernel_bytes} {}

  // Before the first worker takes work.
  void set_extent_bytes(std::uint64_t bytes) { limits_.extent_bytes = bytes; }
  // Before the walk: batches are compared before anything of them is sent.
  void compare_first() { compare_first_ = true; }
  // Before the walk: what is done when all else is settled, as long as take(work) says that there is some.
  void set_last_work(std::function<bool(Work& work)> take) { take_last_ = std::move(take); }
  void last_in_turn() { last_in_turn_ = true; }  // one after the other: a limit makes one depend on others

  // Walker. False: the run was stopped.
  bool add(Batch batch);  // of a sync: to be compared
  bool add(FileTransferRef file);
  // A worker's find: a file that is no longer small. Never blocks.
  void add_grown(FileTransferRef file);
  void add_link(Item item);  // sent when all else is settled, because its first name must be there
  LinkedFiles& linked() { return linked_; }
  void count(std::uint64_t files, std::uint64_t bytes);
  void discount(std::uint64_t files, std::uint64_t bytes);  // what need not be copied after all
  void walk_finished();
  // The listing of a directory is over, and not all of its children went into one batch with it.
  void listed(const DirectoryRef& directory);

  // Workers. wait: look again when the ring is woken (see subscribe); none: all is settled, or the run was
  // stopped. worker: who asks, any address of its own.
  Next take(Work& work, const void* worker);
  // All work that was taken comes back through one of these, or give_back(). True: that was all of it.
  bool settle_batch(Batch& batch);
  // All of work.batch has been compared. False: it is left here until all batches before it are compared,
  // too; so nothing changes at the target beneath a directory before that has been compared itself.
  bool settle_compare(Work& work);
  void settle_last(const NamesBatch& names);
  std::uint64_t first_serial() const;  // the lowest of which pages may still be sent
  void opened(const FileTransferRef& file, const OpenAnswer& answer);
  // A byte_stream's read of `bytes` bytes is over (its chunk is still to be sent).
  void stream_read(FileTransfer& file, std::size_t bytes, bool at_end);
  // A read met the end of the file earlier than its size promised.
  void ended_early(FileTransfer& file, std::uint64_t end);
  // True: work has become the file's commit or abandon, to be done by the caller.
  bool settle_extent(Work& work, const PieceAnswer& answer);
  // What is not present of a span is handed out as extents, before further spans. As settle_extent().
  bool settle_span(Work& work, const PieceAnswer& answer);
  // A span of chunks has been cut, and is so long.
  void chunks_read(FileTransfer& file, std::uint64_t bytes);
  // Gives an extent back to be sent as data, because the kernel cannot copy it.
  void return_extent(Work& work);
  void settle_file(const FileTransferRef& file);

  // The worker's stream, the one of this index, is lost: the target is to be told over another one, and the
  // worker gives back what it has under way. That is handed out again when the target has answered.
  void lose_stream(std::size_t stream, const void* worker);
  void give_back(Work work, std::size_t stream, const void* worker);
  void settle_lost(std::size_t stream);

  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  PlanTotals totals() const;

  // A worker's ring, woken when a take() that said wait may say something else: changes() is another then.
  void subscribe(io::Ring* ring);
  void unsubscribe(io::Ring* ring);
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  // How much may wait (0.7 MB; a copy of a million files takes no more), how many large files are open.
  static constexpr std::size_t kQueuedItemsMax = 2'500;
  static constexpr std::size_t kLargeFilesMax = 1024;
  static constexpr std::size_t kOpenFilesMax = 16;
  static constexpr std::size_t kFinishBatch = 256;

 private:
  bool take_extent(Work& work, const void* worker);
  bool take_extent_of(std::size_t index, Work& work, const void* worker);
  void make_active(const FileTransferRef& file);
  bool settle_part(Work& work);
  bool take_open(Work& work);
  bool take_batch(Work& work);
  bool take_compared(Work& work);
  bool take_last(Work& work);
  bool take_finish(Work& work);
  void make_link_batches();
  bool all_settled() const;
  bool file_over(Work& work);
  void child_settled(const DirectoryRef& directory);
  void wake_workers();

  FilePieces::Limits limits_;
  std::uint64_t next_file_id_ = 1;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<Batch> batches_;
  std::size_t queued_items_ = 0;  // in batches_
  bool compare_first_ = false, last_in_turn_ = false, prefer_batch_ = false, walk_over_ = false;
  std::function<bool(Work&)> take_last_;
  std::size_t last_in_flight_ = 0;
  CompareOrder order_;
  std::deque<FileTransferRef> waiting_;
  std::deque<FileTransferRef> active_;
  std::deque<DirectoryRef> finishable_;
  std::deque<Item> links_;
  LinkedFiles linked_;
  RetransmitQueue given_back_;
  std::vector<io::Ring*> rings_;
  std::size_t open_files_ = 0, in_flight_ = 0, waiting_takers_ = 0;
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> changes_{0};
  PlanTotals totals_;
};

}  // namespace rdcp::tree
