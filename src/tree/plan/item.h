// The items of a source, and the batches that they travel in.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/fs/beneath.h"
#include "tree/messages/sync_settings.h"
#include "tree/meta/entry_path.h"
#include "tree/plan/directory_tracker.h"

namespace rdcp::tree {

// One thing to copy, as the walker saw it.
struct Item {
  // enter: a directory's own metadata, which are compared (sync) before anything in it, and not sent.
  // listed: a finish turns into this when an item of the directory has left the batch.
  enum class Kind : std::uint8_t { entry, hard_link, finish, enter, listed };
  Kind kind = Kind::entry;
  DirectoryRef directory;  // its parent; for finish, enter, listed: the directory itself
  std::string name;        // within `directory`; empty for finish, enter, listed
  struct stat status {};   // entry, hard_link
  // A symlink's content, or the path beneath link_root of a hard_link whose turn has come.
  std::string link_target;
  const Root* link_root = nullptr;
  bool skipped = false;  // nothing (more) is to be sent; a failure to pack it has been reported
  bool asked = false;    // it is on the page under way
  bool plain = false;    // it certainly had no xattrs and no ACL when the walker saw it
  Verdict verdict = Verdict::different;

  const Root& root() const { return directory->root(); }
  // Returns the directory that waits for this item.
  const DirectoryRef& waits() const { return kind == Kind::finish ? directory->parent() : directory; }
  std::string local_path() const { return join_path(directory->local_path(), name); }
  EntryPath entry_path() const { return landing_path(root(), local_path()); }
  std::string filter_path() const {
    return root().single ? root().filter_path : join_path(root().filter_path, local_path());
  }
  // Returns the SRC as given, with the path beneath it, for messages.
  std::string subject() const { return root().single ? root().given : join_path(root().given, local_path()); }
  static EntryPath landing_path(const Root& root, const std::string& local_path) {
    return EntryPath::of_own(root.single ? root.landing : join_path(root.landing, local_path));
  }
};

// Neighbouring small items that should fit into one archive chunk.
struct Batch {
  std::vector<Item> items;
  std::uint64_t serial = 0;     // if not 0, it is compared first (sync), in about this order
  std::size_t compared = 0;     // index of the first item that has not been compared
  std::size_t asked_until = 0;  // index behind the last item on the page under way
  bool to_compare() const { return serial != 0 && compared < items.size(); }
  std::size_t next = 0;     // index of the first item that has not been packed
  std::size_t settled = 0;  // index of the first item that the target has not answered for
};

}  // namespace rdcp::tree
