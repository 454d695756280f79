#include <archive.h>
#include <archive_entry.h>
#include <sys/sysmacros.h>

#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "tree/archive/archive.h"
#include "tree/archive/archive_acl.h"
#include "tree/archive/archive_format.h"

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

// Sets only what the entry has, because each further field is one more string to copy, or a pax record that
// nobody needs. Strings are passed as bytes (no _utf8, no _w), and hdrcharset=BINARY writes them unchanged.
void describe_to_libarchive(const Entry& from, archive_entry* to) {
  archive_entry_set_filetype(to, file_type(from.type));
  archive_entry_set_perm(to, from.mode);
  archive_entry_copy_pathname(to, from.path.empty() ? kRootPath : from.path.text().c_str());
  archive_entry_set_uid(to, from.uid);
  archive_entry_set_gid(to, from.gid);
  if (!from.user.empty()) archive_entry_copy_uname(to, from.user.c_str());
  if (!from.group.empty()) archive_entry_copy_gname(to, from.group.c_str());
  archive_entry_set_mtime(to, from.mtime.seconds, 0);  // the nanoseconds follow the archive

  if (from.type == EntryType::file) archive_entry_set_size(to, static_cast<la_int64_t>(from.size));
  if (from.type == EntryType::symlink) archive_entry_copy_symlink(to, from.link_target.c_str());
  if (from.type == EntryType::hard_link) archive_entry_copy_hardlink(to, from.first_name.text().c_str());
  if (from.type == EntryType::socket) archive_entry_xattr_add_entry(to, kSocketXattr, "", 0);
  if (from.attributes_only) archive_entry_xattr_add_entry(to, kAttributesXattr, "", 0);
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

// True if GNU tar's header can hold the entry without an extension that libarchive would not write.
bool fits_gnu_tar(const Entry& entry) {
  constexpr std::uint32_t kIdEnd = 1u << 21;                // seven octal digits
  constexpr std::int64_t kTimeEnd = std::int64_t{1} << 33;  // eleven octal digits
  constexpr std::size_t kNameEnd = 32;
  const bool plain_type = entry.type == EntryType::file || entry.type == EntryType::directory ||
                          entry.type == EntryType::symlink || entry.type == EntryType::hard_link;
  return plain_type && !entry.attributes_only && entry.xattrs.empty() && entry.access_acl.empty() &&
         entry.default_acl.empty() && entry.data.empty() && entry.uid < kIdEnd && entry.gid < kIdEnd &&
         entry.user.size() < kNameEnd && entry.group.size() < kNameEnd && entry.mtime.seconds >= 0 &&
         entry.mtime.seconds < kTimeEnd;
}

// Upper bound of an entry's pax records ("LENGTH KEY=VALUE\n" each).
std::size_t pax_records_bound(const Entry& entry) {
  constexpr std::size_t kFrame = 48;      // a record without its value, or some numbers
  constexpr std::size_t kFewRecords = 7;  // hdrcharset, mtime, uid, gid, device major and minor, attributes
  std::size_t bytes = kFewRecords * kFrame;
  bytes += entry.path.size() + entry.link_target.size() + entry.first_name.size() + entry.user.size() +
           entry.group.size() + 4 * kFrame;
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
  using Writer = std::unique_ptr<archive, FreeWriter>;

  OwnedEntry entry{archive_entry_new()};
  // Two writers write one archive, which tar allows, because its entries are independent. `plain` writes
  // GNU's form, byte-exact and at half the cost, for entries that fit it; `full` writes pax and is made when
  // an entry needs it.
  Writer plain;
  Writer full;
  std::span<std::byte> slot;
  std::size_t used = 0;
  std::vector<std::uint32_t> nanoseconds;  // nanoseconds of each entry's mtime

  ~State() { drop_writers(); }

  // Freeing a writer that was not closed closes it. What it writes then is refused here, because the slot may
  // belong to somebody else by now.
  void drop_writers() {
    slot = {};
    used = 0;
    plain.reset();
    full.reset();
  }

  // Takes bytes from libarchive, in whatever pieces it makes, and puts them directly into the slot.
  static la_ssize_t take(archive*, void* self, const void* bytes, std::size_t length) {
    auto& state = *static_cast<State*>(self);
    if (length > state.slot.size() - state.used) return -1;
    std::memcpy(state.slot.data() + state.used, bytes, length);
    state.used += length;
    return static_cast<la_ssize_t>(length);
  }

  Writer open(int (*set_format)(archive*), const char* options) {
    Writer writer(archive_write_new());
    set_format(writer.get());
    [[maybe_unused]] const int set = archive_write_set_options(writer.get(), options);
    assert(set == ARCHIVE_OK);
    archive_write_add_filter_none(writer.get());
    archive_write_set_bytes_per_block(writer.get(), 0);
    [[maybe_unused]] const int opened = archive_write_open(writer.get(), this, nullptr, take, nullptr);
    assert(opened == ARCHIVE_OK);
    return writer;
  }

  archive* writer_for(const Entry& described) {
    if (fits_gnu_tar(described)) return plain.get();
    if (full == nullptr) {
      full = open(archive_write_set_format_pax, "pax:hdrcharset=BINARY,pax:xattrheader=LIBARCHIVE");
    }
    return full.get();
  }

  void append(std::uint32_t number) {
    for (std::size_t i = 0; i < kNanosecondsBytes; ++i) {
      slot[used++] = static_cast<std::byte>(number >> (8 * i));
    }
  }

  static io::Error error(archive* writer, std::string_view subject) {
    const char* text = archive_error_string(writer);
    return io::plain_error(io::ErrorKind::file, "pack", subject, text != nullptr ? text : "unknown cause");
  }
};

ArchiveWriter::ArchiveWriter() : state_(std::make_unique<State>()) {}
ArchiveWriter::~ArchiveWriter() = default;

void ArchiveWriter::begin(std::span<std::byte> slot) {
  assert(slot.size() >= kTrailerBytes);
  state_->drop_writers();
  state_->slot = slot;
  state_->nanoseconds.clear();
  state_->plain = state_->open(archive_write_set_format_gnutar, nullptr);
}

io::Result<bool> ArchiveWriter::add(const Entry& entry, std::span<const std::byte> content) {
  State& state = *state_;
  assert(state.plain != nullptr);
  assert(content.size() == (entry.type == EntryType::file ? entry.size : 0));
  if (pax_records_bound(entry) > kPaxRecordsMax) {
    return io::plain_error(io::ErrorKind::file, "pack", entry.path, "more than 1 MiB of extended attributes");
  }
  const std::size_t behind = state.nanoseconds.size() * kNanosecondsBytes + kTrailerBytes;
  if (bound(entry) + behind > state.slot.size() - state.used) return false;

  const std::size_t before = state.used;
  archive* writer = state.writer_for(entry);
  archive_entry_clear(state.entry.get());
  describe_to_libarchive(entry, state.entry.get());
  if (archive_write_header(writer, state.entry.get()) != ARCHIVE_OK ||
      (!content.empty() && archive_write_data(writer, content.data(), content.size()) !=
                               static_cast<la_ssize_t>(content.size())) ||
      archive_write_finish_entry(writer) != ARCHIVE_OK) {
    state.used = before;
    return State::error(writer, entry.path);
  }
  assert(state.used - before <= bound(entry));
  state.nanoseconds.push_back(entry.mtime.nanoseconds);
  return true;
}

io::Result<std::size_t> ArchiveWriter::finish() {
  State& state = *state_;
  assert(state.plain != nullptr);
  if (archive_write_close(state.plain.get()) != ARCHIVE_OK) {
    return State::error(state.plain.get(), "archive chunk");
  }
  for (const std::uint32_t nanoseconds : state.nanoseconds) state.append(nanoseconds);
  state.append(static_cast<std::uint32_t>(state.nanoseconds.size()));
  const std::size_t length = state.used;
  state.drop_writers();  // the second writer adds no end of its own
  return length;
}

std::size_t ArchiveWriter::entries() const {
  return state_->nanoseconds.size();
}

std::size_t ArchiveWriter::bound(const Entry& entry) {
  // In pax form, an entry takes the header of the pax records, the records, its own header and its content.
  // In GNU's form it takes a header, and for a long path and a long link target the text with a header each,
  // for which gnu_extra makes up.
  const std::size_t gnu_extra =
      entry.path.size() + entry.link_target.size() + entry.first_name.size() < 100 ? 0 : 4 * kTarBlockBytes;
  return kTarBlockBytes + round_up_block(pax_records_bound(entry)) + kTarBlockBytes + gnu_extra +
         content_bound(entry) + kNanosecondsBytes;
}

}  // namespace rdcp::tree
