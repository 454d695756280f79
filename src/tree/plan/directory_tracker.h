// The directories of a source that are under way, and when each can be finished.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tree/meta/entry.h"
#include "tree/plan/root.h"
#include "tree/select/named_paths.h"

namespace rdcp::tree {

class DirectoryTracker;
using DirectoryRef = std::shared_ptr<DirectoryTracker>;

// What of the directory takes part in the copy.
struct DirectoryScope {
  bool whole = true;             // all that is in it is listed; else what is named
  NamedPaths::Range names = {};  // named beneath it; with whole, what the names say of an entry comes first
  bool passed_through = false;   // a root, not named itself: what it is at the target is left as it is
  dev_t device = 0;              // that --one-file-system keeps to
};

// A directory under way. Its own metadata is sent ("finished") when everything in it has been settled, so
// that times and modes are not disturbed by what is written into it; then it is forgotten. What is held of a
// tree at one time is thus bounded by the walk's frontier and what is in flight.
//
// It counts its children that are not settled yet, plus one while it is being listed. Any thread may add a
// child. Who settles holds the plan's mutex; only the thread that lists the directory calls what says so.
class DirectoryTracker {
 public:
  // The top of a root. offered: any thread may list it, as after offer().
  explicit DirectoryTracker(const Root& root, const DirectoryScope& scope = {}, bool offered = false)
      : root_(root), scope_(scope), offered_(offered) {}
  // A child of `parent`, which waits for it from now on.
  DirectoryTracker(DirectoryRef parent, std::string_view name, const DirectoryScope& scope);

  const Root& root() const { return root_; }
  const DirectoryRef& parent() const { return parent_; }         // null for a root
  const std::string& local_path() const { return local_path_; }  // beneath root().fd
  const DirectoryScope& scope() const { return scope_; }
  const Entry& metadata() const { return metadata_; }  // the path is filled in when it is sent

  // By the thread that lists it.
  void set_metadata(Entry metadata) { metadata_ = std::move(metadata); }
  // It could not even be opened, which has been reported: it is not finished.
  void set_unreadable() { readable_ = false; }
  // Another thread than its parent's will list it, so it cannot be finished in the parent's batch.
  void offer() { offered_ = true; }
  // An item of the directory lies in the batch of this number, which the thread is filling.
  void add_to_batch(std::uint64_t batch);
  // So does the directory's own entry, for which the parent waits.
  void add_finish_to_batch(std::uint64_t batch);
  // True: all that is in it lies in this batch, so its own entry may follow in the same archive.
  bool lies_in_batch(std::uint64_t batch) const;

  // One more thing is to be settled before the directory is.
  void add_child() { unsettled_.fetch_add(1); }
  // A sync compares the directory's own metadata, as one more child. It is finished only if they differ or
  // something in it changes.
  void add_comparison();
  // A child is settled, or the listing is over. True: that was the last.
  [[nodiscard]] bool settle_child() { return unsettled_.fetch_sub(1) == 1; }

  // Its metadata differ at the target, or something in it is written there.
  void set_changed() { changed_ = true; }
  bool is_changed() const { return changed_; }
  // False: when all in it is settled, there is nothing to be sent of the directory itself.
  bool is_to_be_finished() const { return readable_ && changed_; }

  // One of its items is not small after all: it leaves the batch that it was in, to be settled alone.
  void move_item_out();
  // True: something in it left the batch, so it cannot be finished in that batch.
  bool is_outgrown() const { return outgrown_; }
  // Its entry leaves the batch, too, and then the parent's cannot be in that batch either.
  void postpone_finish();
  // Its own entry is handed out now.
  void begin_finish() { outgrown_ = false; }
  // The last child that it waits for is one whose entry is handed out now. True: its own follows in the same
  // archive; it is not handed out again when that child is settled.
  [[nodiscard]] bool finish_behind_last_child();

 private:
  const Root& root_;
  const DirectoryRef parent_;
  const std::string local_path_;
  const DirectoryScope scope_;
  Entry metadata_;
  bool readable_ = true;
  std::atomic<bool> changed_{true};
  std::atomic<bool> outgrown_{false};
  std::atomic<std::int64_t> unsettled_{1};

  // Of the thread that lists it: how many children are in its batch of this number.
  std::uint64_t batch_ = 0;
  std::int64_t in_batch_ = 0;
  bool offered_ = false;
};

}  // namespace rdcp::tree
