// The directories of a source that are under way, and when each can be finished.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tree/meta/entry.h"
#include "tree/meta/file_id.h"
#include "tree/plan/root.h"
#include "tree/select/named_paths.h"

namespace rdcp::tree {

class DirectoryTracker;
using DirectoryRef = std::shared_ptr<DirectoryTracker>;

// Which part of a directory is copied.
struct DirectoryScope {
  bool whole = true;             // everything in it is listed; false: only the named entries
  NamedPaths::Range names = {};  // the names beneath it; with whole, they take precedence for an entry
  bool passed_through = false;   // a root that is not named itself: the target's directory keeps its metadata
  dev_t device = 0;              // the filesystem that --one-file-system stays on
};

// A directory being copied. Its own metadata is sent (it is "finished") when everything in it has been
// settled, so that later writes into it do not disturb its times and mode; then it is forgotten. Memory is
// thus bounded by the walk's frontier and what is in flight.
//
// It counts its children that are not settled yet, plus one while it is being listed. Any thread may add a
// child. Whoever settles one holds the plan's mutex. Some functions are for the listing thread only; they say
// so.
class DirectoryTracker {
 public:
  // Tracks the top of a root. With `offered` any thread may list it, as after offer().
  explicit DirectoryTracker(const Root& root, const DirectoryScope& scope = {}, bool offered = false)
      : root_(root), scope_(scope), offered_(offered) {}
  // Tracks a child of `parent`, which waits for it from now on.
  DirectoryTracker(DirectoryRef parent, std::string_view name, const DirectoryScope& scope);

  const Root& root() const { return root_; }
  const DirectoryRef& parent() const { return parent_; }         // null for a root
  const std::string& local_path() const { return local_path_; }  // beneath root().fd
  const DirectoryScope& scope() const { return scope_; }
  const Entry& metadata() const { return metadata_; }  // the path is filled in when it is sent

  // Called by the thread that lists the directory, down to lies_in_batch().
  void set_metadata(Entry metadata) { metadata_ = std::move(metadata); }
  // Notes which directory it is; before those in it are known. Only where symbolic links are followed.
  void set_id(FileId id) { id_ = id; }
  // True if it is one of the directories above it, so that a walk into it would never end.
  bool is_its_own_ancestor() const;
  // Notes that it could not be opened, which has been reported; it will not be finished.
  void set_unreadable() { readable_ = false; }
  // Lets another thread than its parent's list it, so it cannot be finished in the parent's batch.
  void offer() { offered_ = true; }
  // Notes that an item of the directory lies in the batch of this number, which the thread is filling.
  void add_to_batch(std::uint64_t batch);
  // Notes the same of the directory's own entry, for which the parent waits.
  void add_finish_to_batch(std::uint64_t batch);
  // Whether everything in it lies in this batch, so that its own entry may follow in the same archive.
  bool lies_in_batch(std::uint64_t batch) const;

  // Adds one more thing to be settled before the directory is.
  void add_child() { unsettled_.fetch_add(1); }
  // Adds the comparison of the directory's own metadata (sync) as one more child. The directory is finished
  // only if the metadata differ or something in it changes.
  void add_comparison();
  // Settles a child, or the listing itself. Returns true if it was the last one.
  [[nodiscard]] bool settle_child() { return unsettled_.fetch_sub(1) == 1; }

  // Notes that its metadata differ at the target, or that something in it is written there.
  void set_changed() { changed_ = true; }
  bool is_changed() const { return changed_; }
  // Whether the directory's own entry is to be sent when everything in it is settled.
  bool is_to_be_finished() const { return readable_ && changed_; }

  // Moves an item that is not small after all out of its batch, to be settled alone.
  void move_item_out();
  // Whether something in it left the batch, so that it cannot be finished in that batch.
  bool is_outgrown() const { return outgrown_; }
  // Moves its own entry out of the batch, too; then the parent's cannot be in that batch either.
  void postpone_finish();
  // Notes that its own entry is handed out now.
  void begin_finish() { outgrown_ = false; }
  // Called when a child directory's entry is handed out. Returns true if it waits for that child only: then
  // its own entry follows in the same archive, and is not handed out again when the child is settled.
  [[nodiscard]] bool finish_behind_last_child();

 private:
  const Root& root_;
  const DirectoryRef parent_;
  const std::string local_path_;
  const DirectoryScope scope_;
  Entry metadata_;
  FileId id_;
  bool readable_ = true;
  std::atomic<bool> changed_{true};
  std::atomic<bool> outgrown_{false};
  std::atomic<std::int64_t> unsettled_{1};

  // Used by the listing thread only.
  std::uint64_t batch_ = 0;    // the number of that thread's batch
  std::int64_t in_batch_ = 0;  // how many children are in that batch
  bool offered_ = false;
};

}  // namespace rdcp::tree
