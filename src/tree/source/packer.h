// Fills slots with archive chunks: batches of small files, and the headers of large ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/arena.h"
#include "io/fd.h"
#include "tree/archive/archive.h"
#include "tree/messages/sync_settings.h"
#include "tree/plan/plan.h"
#include "tree/source/source_totals.h"
#include "tree/walk/read_context.h"

namespace rdcp::tree {

// One per worker; not thread-safe. Reads small files on the worker's own thread: most of the time they are
// cached, and then open, read, stat and close cost less than handing them to anyone.
class Packer {
 public:
  // In a sync the walk has not told large files from small ones, so the packer hands large ones to the plan.
  Packer(Plan& plan, std::uint64_t small_file_max, const SyncSettings& sync, const ReadContext& reading);

  // Packs items of the batch, from batch.next on, until one does not fit, and moves batch.next behind the
  // last one dealt with. Returns the bytes of the slot used, or 0 if none of the items was packed; failures
  // have been reported.
  std::size_t pack(Batch& batch, std::span<std::byte> slot);

  // Packs one entry without content: a large file's metadata, as its descriptor has them now. Returns the
  // bytes, or 0 after a failure, which has been reported.
  std::size_t pack_header(const FileTransfer& file, std::span<std::byte> slot);

  // Returns what the last pack() packed.
  const Packed& packed() const { return packed_; }
  void want_sums() { wants_sums_ = true; }
  // From now on what cannot be read whole, with its attributes, is not packed: the source will remove it.
  void want_whole() { wants_whole_ = true; }

 private:
  enum class Outcome : std::uint8_t { added, full, skipped, handed_back };
  Outcome add(const Item& item);
  io::Fd open_file(const Item& item);
  Outcome add_file(const Item& item);
  Outcome add_attributes(const Item& item);
  Outcome add_entry(std::span<const std::byte> content);
  // endless: the file has more content than its size says, and more than there is room for.
  enum class Read : std::uint8_t { whole, failed, too_large, endless };
  Read read_content(const Item& item, int fd, struct stat& status, std::size_t& bytes);
  Outcome hand_back(const Item& item, bool endless = false);
  static void postpone(Item& item);
  // Reads the item's xattrs into the entry. What cannot be read is reported, and the rest of it is copied,
  // unless this returns false.
  bool add_xattrs(const Item& item, int fd, bool is_path_fd);
  void note_holes(int fd, const struct stat& status);

  Plan& plan_;
  const SyncSettings sync_;
  const ReadContext reading_;
  ArchiveWriter writer_;
  std::vector<std::byte> scratch_;  // a small file's content, and one byte more to see that it has grown
  Entry entry_;
  Packed packed_;
  // The directory of the last items stays open while several in a row are in it: to resolve one component
  // takes a third of the time of a whole path.
  DirectoryRef held_directory_;
  io::Fd held_fd_;
  bool next_is_neighbour_ = false;
  bool wants_sums_ = false;
  bool wants_whole_ = false;
};

}  // namespace rdcp::tree
