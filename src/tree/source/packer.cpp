#include "tree/source/packer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "io/whole_range.h"
#include "tree/source/sum_teller.h"
#include "tree/walk/stability.h"
#include "tree/walk/travels.h"

namespace rdcp::tree {

namespace {

// libarchive loses the directory of a sparse entry whose path does not fit into a ustar header, to which it
// adds a component of its own. Such a file goes alone.
constexpr std::size_t kSparsePathMax = 80;

}  // namespace

Packer::Packer(Plan& plan, std::uint64_t small_file_max, const SyncSettings& sync, const ReadContext& reading)
    : plan_(plan), sync_(sync), reading_(reading), scratch_(small_file_max + 1) {}

std::size_t Packer::pack(Batch& batch, std::span<std::byte> slot) {
  packed_ = {};
  writer_.begin(slot);
  while (batch.next < batch.items.size()) {
    Item& item = batch.items[batch.next];
    if (item.kind == Item::Kind::finish && item.directory->is_outgrown()) postpone(item);
    // It was found to be equal, or could not be packed before, for a stream that was lost.
    const bool finished = item.kind == Item::Kind::finish && !item.directory->is_changed();
    if (item.skipped || finished) {
      ++batch.next;
      continue;
    }
    next_is_neighbour_ =
        batch.next + 1 < batch.items.size() && batch.items[batch.next + 1].directory == item.directory;
    const Outcome outcome = add(item);
    if (outcome == Outcome::full && writer_.entries() > 0) break;
    if (outcome == Outcome::full) {
      reading_.reporter.problem(
          io::plain_error(io::ErrorKind::file, "copy", item.subject(),
                          "its metadata does not fit into a chunk; try a larger --chunk-size"));
    }
    item.skipped = outcome != Outcome::added;
    if (outcome == Outcome::full || outcome == Outcome::skipped) plan_.linked().pass_on(item);
    ++batch.next;
  }
  held_directory_ = nullptr;
  held_fd_.reset();
  if (writer_.entries() == 0) return 0;
  const auto length = writer_.finish();
  if (length) return *length;
  reading_.reporter.problem(length.error());
  return 0;
}

Packer::Outcome Packer::add(const Item& item) {
  if (item.kind == Item::Kind::finish) {
    entry_ = item.directory->metadata();
    entry_.type = EntryType::directory;
    entry_.path = item.entry_path();
    if (item.directory->scope().passed_through && entry_.path.empty()) return Outcome::skipped;
    return add_entry({});
  }
  const bool is_file = S_ISREG(item.status.st_mode) && item.kind == Item::Kind::entry;
  if (is_file && item.verdict == Verdict::metadata) return add_attributes(item);
  if (is_file && travels_alone(item.status, scratch_.size() - 1)) return hand_back(item);
  if (is_file) return add_file(item);
  entry_ = {};
  reading_.fill(item.status, entry_);
  entry_.path = item.entry_path();
  entry_.size = 0;
  if (item.kind == Item::Kind::hard_link) {
    entry_.type = EntryType::hard_link;
    entry_.first_name = Item::landing_path(*item.link_root, item.link_target);
    return add_entry({});
  }
  entry_.link_target = item.link_target;
  entry_.attributes_only = item.verdict == Verdict::metadata;
  const io::Fd fd = item.root().open(item.local_path(), O_PATH | O_NOFOLLOW);
  if (!fd && reading_.policy.xattrs) {
    reading_.reporter.problem(io::errno_error("open", item.subject()));
    if (wants_whole_) return Outcome::skipped;
  }
  if (fd && !add_xattrs(item, fd.get(), true)) return Outcome::skipped;
  const Outcome outcome = add_entry({});
  if (wants_sums_ && outcome == Outcome::added) packed_.sums.back().linked = item.status.st_nlink > 1;
  return outcome;
}

bool Packer::add_xattrs(const Item& item, int fd, bool is_path_fd) {
  const auto read = reading_.read_xattrs(fd, is_path_fd, entry_);
  if (!read) reading_.reporter.problem(io::about(item.subject(), read.error()));
  return read.ok() || !wants_whole_;
}

// A file whose content the target has; as it is now, unless it has changed since it was compared.
Packer::Outcome Packer::add_attributes(const Item& item) {
  const io::Fd fd = item.root().open(item.local_path(), O_PATH | O_NOFOLLOW);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    reading_.reporter.problem(io::errno_error("open", item.subject()));
    return Outcome::skipped;
  }
  if (!unchanged(item.status, status)) return hand_back(item);
  entry_ = {};
  reading_.fill(status, entry_);
  entry_.path = item.entry_path();
  entry_.size = 0;
  entry_.attributes_only = true;
  return add_xattrs(item, fd.get(), true) ? add_entry({}) : Outcome::skipped;
}

Packer::Outcome Packer::add_entry(std::span<const std::byte> content) {
  const auto added = writer_.add(entry_, content);
  if (!added) {
    reading_.reporter.problem(added.error());
    return Outcome::skipped;
  }
  if (!*added) return Outcome::full;
  switch (entry_.type) {
    case EntryType::file:
      ++packed_.files;
      break;
    case EntryType::directory:
      ++packed_.directories;
      break;
    default:
      ++packed_.others;
      break;
  }
  packed_.content_bytes += content.size();
  if (wants_sums_) packed_.sums.push_back(line_of(entry_, content));
  return Outcome::added;
}

// Reads the whole of a file into scratch_.
Packer::Read Packer::read_content(const Item& item, int fd, struct stat& status, std::size_t& bytes) {
  struct stat before = item.status;
  for (unsigned tries = 0; tries < kReadTries; ++tries) {
    wait_for_next_tick(before);
    const auto size = static_cast<std::size_t>(before.st_size);
    if (size >= scratch_.size()) return Read::too_large;
    const std::size_t wanted = size == 0 ? scratch_.size() : size + 1;
    const ssize_t n = io::read_range(fd, std::span(scratch_).first(wanted), 0, size == 0 ? wanted : size);
    if (n < 0 || ::fstat(fd, &status) != 0) return Read::failed;
    bytes = static_cast<std::size_t>(n);
    const bool same = unchanged(before, status);
    // It has more than it says, as files of /proc do: all of it is here, or nobody knows how much there is.
    if (same && bytes > size) return bytes < wanted ? Read::whole : Read::endless;
    bytes = std::min(bytes, size);
    if (same) return Read::whole;
    before = status;
  }
  if (static_cast<std::size_t>(status.st_size) >= scratch_.size()) return Read::too_large;
  reading_.reporter.problem(changed_error(item.subject(), true));
  status.st_mtim = torn_mtime(item.status, status, sync_);
  return Read::whole;
}

// The directory is finished when all else is settled, and those above it after that.
void Packer::postpone(Item& item) {
  item.kind = Item::Kind::listed;
  item.skipped = true;
  item.directory->postpone_finish();
}

// The file is not small, or not any more: it goes alone, and its directory waits for that too.
Packer::Outcome Packer::hand_back(const Item& item, bool endless) {
  item.directory->move_item_out();
  plan_.add_grown(std::make_shared<FileTransfer>(item, endless));
  return Outcome::handed_back;
}

// Notes where the data of a small file is, if the file takes less room than its size.
void Packer::note_holes(int fd, const struct stat& status) {
  if (status.st_blocks * 512 >= status.st_size || static_cast<std::size_t>(status.st_size) < io::kPageBytes)
    return;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  io::DataExtents extents(fd, size, true);
  std::uint64_t covered = 0;
  while (const auto extent = extents.next(io::round_up(size, io::kPageBytes))) {
    entry_.data.push_back(*extent);
    covered += extent->length;
  }
  if (covered == size) {
    entry_.data.clear();
  } else if (entry_.data.empty()) {
    entry_.data.push_back({size, 0});  // nothing but a hole
  }
}

io::Fd Packer::open_file(const Item& item) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const Root& root = item.root();
  if (held_directory_ != item.directory && next_is_neighbour_) {
    held_directory_ = item.directory;
    held_fd_ = root.open(item.directory->local_path(), O_PATH | O_DIRECTORY);
  }
  if (root.follows || held_directory_ != item.directory || !held_fd_)
    return root.open(item.local_path(), kFlags);
  return io::Fd(::openat(held_fd_.get(), item.name.c_str(), kFlags));
}

Packer::Outcome Packer::add_file(const Item& item) {
  const io::Fd fd = open_file(item);
  if (!fd) {
    reading_.reporter.problem(io::errno_error("open", item.subject()));
    return Outcome::skipped;
  }
  struct stat status {};
  std::size_t bytes = 0;
  const Read read = read_content(item, fd.get(), status, bytes);
  if (read == Read::failed) reading_.reporter.problem(io::errno_error("read", item.subject()));
  if (read == Read::too_large || read == Read::endless) return hand_back(item, read == Read::endless);
  if (read != Read::whole) return Outcome::skipped;
  if (!S_ISREG(status.st_mode)) {
    reading_.reporter.problem(
        io::plain_error(io::ErrorKind::file, "copy", item.subject(), "is no longer a file"));
    return Outcome::skipped;
  }
  entry_.xattrs.clear();
  entry_.access_acl.clear();
  entry_.default_acl.clear();
  entry_.data.clear();
  entry_.link_target.clear();
  entry_.first_name.clear();
  entry_.attributes_only = false;
  reading_.fill(status, entry_);
  entry_.path = item.entry_path();
  entry_.size = bytes;
  note_holes(fd.get(), status);
  if (!entry_.data.empty() && entry_.path.size() > kSparsePathMax) return hand_back(item);
  if (!add_xattrs(item, fd.get(), false)) return Outcome::skipped;
  const Outcome outcome = add_entry(std::span(scratch_).first(bytes));
  if (wants_sums_ && outcome == Outcome::added) packed_.sums.back().linked = status.st_nlink > 1;
  if (outcome == Outcome::full && writer_.entries() == 0) return hand_back(item);
  return outcome;
}

std::size_t Packer::pack_header(const FileTransfer& file, std::span<std::byte> slot) {
  packed_ = {};
  Entry entry;
  reading_.fill(file.opened().status, entry);
  entry.type = EntryType::file;
  entry.path = file.item().entry_path();
  entry.size = 0;
  const bool has_none = file.is_byte_stream() && file.item().root().opened;
  const auto read =
      has_none ? io::Result<void>() : reading_.read_xattrs(file.opened().fd.get(), false, entry);
  if (!read) {
    reading_.reporter.problem(io::about(file.item().subject(), read.error()));
    if (wants_whole_) return 0;
  }
  writer_.begin(slot);
  const auto added = writer_.add(entry, {});
  if (added && *added) {
    const auto length = writer_.finish();
    if (length) return *length;
  }
  reading_.reporter.problem(
      added && !*added
          ? io::plain_error(io::ErrorKind::file, "copy", file.item().subject(),
                            "its metadata does not fit into a chunk; try a larger --chunk-size")
          : io::plain_error(io::ErrorKind::file, "copy", file.item().subject(), "cannot be archived"));
  return 0;
}

}  // namespace rdcp::tree
