#include <archive.h>
#include <archive_entry.h>
#include <sys/sysmacros.h>

#include <cassert>
#include <cstring>

#include "tree/archive.h"
#include "tree/archive_acl.h"
#include "tree/archive_format.h"

namespace rdcp::tree {
namespace {

constexpr std::size_t round_up_block(std::size_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

struct FreeWriter {
  void operator()(archive* writer) const { archive_write_free(writer); }
};

mode_t file_type(EntryType type) {
  switch (type) {
    case EntryType::directory:
      return AE_IFDIR;
    case EntryType::symlink:
      return AE_IFLNK;
    case EntryType::fifo:
    case EntryType::socket:
      return AE_IFIFO;
    case EntryType::char_device:
      return AE_IFCHR;
    case EntryType::block_device:
      return AE_IFBLK;
    case EntryType::file:
    case EntryType::hard_link:
      break;
  }
  return AE_IFREG;
}

// Sets only what the entry has: each field more is one more string to copy, or a pax record that nobody
// needs. Strings go in as bytes (no _utf8, no _w): hdrcharset=BINARY writes them as they are.
void describe_to_libarchive(const Entry& from, archive_entry* to) {
  archive_entry_set_filetype(to, file_type(from.type));
  archive_entry_set_perm(to, from.mode);
  archive_entry_copy_pathname(to, from.path.empty() ? kRootPath : from.path.c_str());
  archive_entry_set_uid(to, from.uid);
  archive_entry_set_gid(to, from.gid);
  if (!from.user.empty()) archive_entry_copy_uname(to, from.user.c_str());
  if (!from.group.empty()) archive_entry_copy_gname(to, from.group.c_str());
  archive_entry_set_mtime(to, from.mtime.seconds, static_cast<long>(from.mtime.nanoseconds));

  if (from.type == EntryType::file) archive_entry_set_size(to, static_cast<la_int64_t>(from.size));
  if (from.type == EntryType::symlink) archive_entry_copy_symlink(to, from.link_target.c_str());
  if (from.type == EntryType::hard_link) archive_entry_copy_hardlink(to, from.link_target.c_str());
  if (from.type == EntryType::socket) archive_entry_xattr_add_entry(to, kSocketXattr, "", 0);
  if (from.type == EntryType::char_device || from.type == EntryType::block_device) {
    archive_entry_set_rdevmajor(to, major(from.device));
    archive_entry_set_rdevminor(to, minor(from.device));
  }
  for (const Xattr& xattr : from.xattrs) {
    archive_entry_xattr_add_entry(to, xattr.name.c_str(), xattr.value.data(), xattr.value.size());
  }
  put_acl(to, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, from.access_acl);
  put_acl(to, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, from.default_acl);
  for (const io::Extent& extent : from.data) {
    archive_entry_sparse_add_entry(to, static_cast<la_int64_t>(extent.offset),
                                   static_cast<la_int64_t>(extent.length));
  }
}

// Upper bound of an entry's pax records ("LENGTH KEY=VALUE\n" each).
std::size_t pax_records_bound(const Entry& entry) {
  constexpr std::size_t kFrame = 48;      // a record without its value, and numbers
  constexpr std::size_t kFewRecords = 6;  // hdrcharset, mtime, uid, gid, device major and minor
  std::size_t bytes = kFewRecords * kFrame;
  bytes += entry.path.size() + entry.link_target.size() + entry.user.size() + entry.group.size() + 4 * kFrame;
  for (const Xattr& xattr : entry.xattrs) {
    bytes += kFrame + 3 * xattr.name.size() + (xattr.value.size() + 2) / 3 * 4;  // %XX and base64
  }
  for (const AclLine& line : entry.access_acl) bytes += acl_line_bound(line);
  for (const AclLine& line : entry.default_acl) bytes += acl_line_bound(line);
  if (!entry.data.empty()) bytes += entry.path.size() + 4 * kFrame;  // GNU.sparse.*
  return bytes;
}

std::size_t content_bound(const Entry& entry) {
  if (entry.type != EntryType::file) return 0;
  if (entry.data.empty()) return round_up_block(entry.size);
  constexpr std::size_t kMapLine = 2 * 20;  // offset and length, each with its newline
  std::size_t bytes = 0;
  for (const io::Extent& extent : entry.data) bytes += extent.length;
  return round_up_block((entry.data.size() + 2) * kMapLine) + round_up_block(bytes);
}

}  // namespace

struct ArchiveWriter::State {
  OwnedEntry entry{archive_entry_new()};
  std::unique_ptr<archive, FreeWriter> writer;
  std::span<std::byte> slot;
  std::size_t used = 0;
  std::size_t entries = 0;

  ~State() { drop_writer(); }

  // Freeing a writer that was not closed closes it: what it then wants to write must not go into a slot that
  // may be another's by now, and is refused.
  void drop_writer() {
    slot = {};
    used = 0;
    writer.reset();
  }

  // The bytes come in the pieces in which libarchive makes them and go straight to their place.
  static la_ssize_t take(archive*, void* self, const void* bytes, std::size_t length) {
    auto& state = *static_cast<State*>(self);
    if (length > state.slot.size() - state.used) return -1;
    std::memcpy(state.slot.data() + state.used, bytes, length);
    state.used += length;
    return static_cast<la_ssize_t>(length);
  }

  io::Error error(std::string_view subject) const {
    const char* text = archive_error_string(writer.get());
    return io::plain_error(io::ErrorKind::file, "pack", subject, text != nullptr ? text : "unknown cause");
  }
};

ArchiveWriter::ArchiveWriter() : state_(std::make_unique<State>()) {}
ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::begin(std::span<std::byte> slot) {
  assert(slot.size() >= kTrailerBytes);
  state_->drop_writer();
  state_->slot = slot;
  state_->entries = 0;
  state_->writer.reset(archive_write_new());
  archive* writer = state_->writer.get();
  archive_write_set_format_pax(writer);
  [[maybe_unused]] const int set =
      archive_write_set_options(writer, "pax:hdrcharset=BINARY,pax:xattrheader=LIBARCHIVE");
  assert(set == ARCHIVE_OK);
  archive_write_add_filter_none(writer);
  archive_write_set_bytes_per_block(writer, 0);
  [[maybe_unused]] const int opened = archive_write_open(writer, state_.get(), nullptr, State::take, nullptr);
  assert(opened == ARCHIVE_OK);
}

io::Result<bool> ArchiveWriter::add(const Entry& entry, std::span<const std::byte> content) {
  State& state = *state_;
  assert(state.writer != nullptr);
  assert(content.size() == (entry.type == EntryType::file ? entry.size : 0));
  if (pax_records_bound(entry) > kPaxRecordsMax) {
    return io::plain_error(io::ErrorKind::file, "pack", entry.path, "more than 1 MiB of extended attributes");
  }
  if (bound(entry) + kTrailerBytes > state.slot.size() - state.used) return false;

  const std::size_t before = state.used;
  archive_entry_clear(state.entry.get());
  describe_to_libarchive(entry, state.entry.get());
  if (archive_write_header(state.writer.get(), state.entry.get()) != ARCHIVE_OK ||
      (!content.empty() && archive_write_data(state.writer.get(), content.data(), content.size()) !=
                               static_cast<la_ssize_t>(content.size())) ||
      archive_write_finish_entry(state.writer.get()) != ARCHIVE_OK) {
    state.used = before;
    return state.error(entry.path);
  }
  assert(state.used - before <= bound(entry));
  ++state.entries;
  return true;
}

io::Result<std::size_t> ArchiveWriter::finish() {
  State& state = *state_;
  assert(state.writer != nullptr);
  if (archive_write_close(state.writer.get()) != ARCHIVE_OK) return state.error("archive chunk");
  state.writer.reset();
  return state.used;
}

std::size_t ArchiveWriter::entries() const {
  return state_->entries;
}

std::size_t ArchiveWriter::bound(const Entry& entry) {
  // The header of the pax records, the records, the header of the entry, its content.
  return kTarBlockBytes + round_up_block(pax_records_bound(entry)) + kTarBlockBytes + content_bound(entry);
}

}  // namespace rdcp::tree
