// What a source has to do: roots, directories, items, batches of small ones, large files.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/digest.h"
#include "io/fd.h"
#include "io/file.h"
#include "tree/fs/beneath.h"
#include "tree/messages/sync_settings.h"
#include "tree/meta/entry.h"
#include "tree/pages/names_page.h"
#include "tree/plan/source_directory.h"
#include "tree/plan/span_state.h"

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

  // The directory that waits for this item.
  const DirectoryRef& waits() const { return kind == Kind::finish ? directory->parent : directory; }
  std::string local_path() const { return join_path(directory->local_path, name); }
  std::string entry_path() const { return landing_path(*directory->root, local_path()); }
  std::string filter_path() const {
    return directory->root->single ? directory->root->filter_path
                                   : join_path(directory->root->filter_path, local_path());
  }
  // For messages: the SRC as given, with the path beneath it.
  std::string subject() const {
    return directory->root->single ? directory->root->given : join_path(directory->root->given, local_path());
  }
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

// A file sent as parallel chunks. The plan's mutex guards what changes.
struct LargeFile : SpanState {
  Item item;
  std::uint64_t id = 0;
  // Read to its end: no size is known beforehand, as of standard input, a FIFO, a character device, or a
  // regular file that has more than it says (/proc).
  bool byte_stream = false;
  unsigned readings = 1;     // this one included
  bool sends_holes = false;  // as zeros: it is written in place, over what is not compared

  // Set when it is opened, before its extents are handed out.
  io::Fd fd;
  struct stat seen {};    // as it was then
  struct stat status {};  // what its copy gets
  io::RingFile file;
  std::uint64_t size = 0;
  std::uint64_t begin = 0;  // where in what is open the extents begin: standard input may stand anywhere
  std::unique_ptr<io::DataExtents> extents;

  // Guarded by the plan.
  std::vector<io::Extent> returned;  // extents to be handed out again, in chunks
  bool exhausted = false;            // no more extents
  bool reading = false;              // one read at a time: byte_stream, and see Plan::next_span()
  bool failed = false;               // reported; to be abandoned
  bool by_kernel = false;            // copy within the kernel (copy_range)
  // Written through the target's page cache, where two writers of one file only spin on its inode's lock: its
  // extents go to the worker that asks first. Several such files keep several workers busy.
  bool one_worker = false;
  const void* worker = nullptr;
  std::uint32_t outstanding = 0;  // extents handed out and not settled
  std::uint64_t end = 0;          // where it really ended, if before size
  std::uint64_t sent_bytes = 0;
  io::FileDigest digest;
  bool change_told = false;               // the file changed while it was read, and that has been reported
  bool read_again = false;                // it did, and is opened anew once this reading is given up
  std::atomic<std::uint64_t> counted{0};  // what of it has been added to the source's counters

  std::uint64_t length() const { return byte_stream ? sent_bytes : end; }
};
using LargeFileRef = std::shared_ptr<LargeFile>;

// Of a file's content-defined chunks.
std::uint64_t chunk_average(const LargeFile& file);

// One piece of work for a slot.
struct Work {
  enum class Kind : std::uint8_t { batch, open, span, extent, commit, abandon, lost, names };
  Kind kind = Kind::batch;
  bool by_kernel = false;  // extent: to be copied within the kernel (copy_range)
  bool again = false;      // it was under way on a stream that was lost
  Batch batch;
  NamesBatch names;
  LargeFileRef file;
  io::Extent extent;             // or span
  Spans spans = Spans::none;     // span: how
  std::vector<std::byte> probe;  // span: what was sent over a lost stream, to be sent again as it was
  std::size_t stream = 0;        // lost: which one
};

// Totals as far as they are known.
struct PlanTotals {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool complete = false;
};

}  // namespace rdcp::tree
