// The items of a source, and the batches that they travel in.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tree/fs/beneath.h"
#include "tree/messages/sync_settings.h"
#include "tree/plan/directory_tracker.h"

namespace rdcp::tree {

// One thing to copy, as the walker saw it.
struct Item {
  // enter: a directory's own metadata, compared (sync) before anything in it; nothing of it is sent.
  // listed: what a finish becomes when something in the directory went out of the batch.
  enum class Kind : std::uint8_t { entry, hard_link, finish, enter, listed };
  Kind kind = Kind::entry;
  DirectoryRef directory;  // that it is in; for finish, enter, listed: the directory itself
  std::string name;        // for these: empty
  struct stat status {};   // entry, hard_link
  // symlink: content; hard_link, when it is its turn: a path beneath link_root.
  std::string link_target;
  const Root* link_root = nullptr;
  bool skipped = false;  // there is nothing (more) to send; if it could not be packed, that has been told
  bool asked = false;    // it is on the page under way
  bool plain = false;    // it surely had no xattrs and no ACL when the walker saw it
  Verdict verdict = Verdict::different;

  const Root& root() const { return directory->root(); }
  // The directory that waits for this item.
  const DirectoryRef& waits() const { return kind == Kind::finish ? directory->parent() : directory; }
  std::string local_path() const { return join_path(directory->local_path(), name); }
  std::string entry_path() const { return landing_path(root(), local_path()); }
  std::string filter_path() const {
    return root().single ? root().filter_path : join_path(root().filter_path, local_path());
  }
  // For messages: the SRC as given, with the path beneath it.
  std::string subject() const { return root().single ? root().given : join_path(root().given, local_path()); }
  static std::string landing_path(const Root& root, const std::string& local_path) {
    return root.single ? root.landing : join_path(root.landing, local_path);
  }
};

// Neighbouring small items that should fit into one archive chunk.
struct Batch {
  std::vector<Item> items;
  std::uint64_t serial = 0;     // not 0: to be compared first (sync), in about this order
  std::size_t compared = 0;     // the first that the target has not been asked about
  std::size_t asked_until = 0;  // behind the last one on the page under way
  bool to_compare() const { return serial != 0 && compared < items.size(); }
  std::size_t next = 0;     // the first that has not been packed yet
  std::size_t settled = 0;  // the first that the target has not answered for
};

}  // namespace rdcp::tree
