#include <archive.h>
#include <archive_entry.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "tree/archive/archive.h"
#include "tree/archive/archive_acl.h"
#include "tree/archive/archive_format.h"
#include "tree/meta/acl.h"

namespace rdcp::tree {
namespace {

struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

io::Error bad_archive(std::string_view subject, std::string_view detail) {
  return io::plain_error(io::ErrorKind::protocol, "unpack", subject, detail);
}

std::string_view bytes_of(const char* text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

// The functions below return what is wrong with an entry, or nullptr.
using Fault = const char*;

// Takes an entry's path from libarchive, which ends that of a directory with a slash.
Fault take_path(std::string_view path, bool is_directory, const AdmittedNames& names, EntryPath& to) {
  if (is_directory && path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path.empty()) return "no path";
  return names.admit(path == kRootPath ? std::string_view() : path, to);
}

Fault take_type(archive_entry* from, const AdmittedNames& names, Entry& to) {
  to.link_target.clear();
  to.first_name.clear();
  if (const char* link = archive_entry_hardlink(from); link != nullptr) {
    to.type = EntryType::hard_link;
    const bool good = names.admit(link, to.first_name) == nullptr && !to.first_name.empty();
    return good ? nullptr : "unsafe hard link";
  }
  switch (archive_entry_filetype(from)) {
    case AE_IFREG:
      return to.type = EntryType::file, nullptr;
    case AE_IFDIR:
      return to.type = EntryType::directory, nullptr;
    case AE_IFLNK:
      to.type = EntryType::symlink;
      to.link_target = bytes_of(archive_entry_symlink(from));
      return to.link_target.empty() ? "symlink without a target" : nullptr;
    case AE_IFIFO:
      return to.type = EntryType::fifo, nullptr;
    case AE_IFCHR:
      return to.type = EntryType::char_device, nullptr;
    case AE_IFBLK:
      return to.type = EntryType::block_device, nullptr;
    default:
      return "unknown type";
  }
}

Fault take_owner(archive_entry* from, Entry& to) {
  const la_int64_t uid = archive_entry_uid(from);
  const la_int64_t gid = archive_entry_gid(from);
  // chown(2) takes the largest number to mean "leave it", so it is nobody's id.
  constexpr la_int64_t kEnd = std::numeric_limits<std::uint32_t>::max();
  if (uid < 0 || uid >= kEnd || gid < 0 || gid >= kEnd) return "impossible owner";
  to.uid = static_cast<std::uint32_t>(uid);
  to.gid = static_cast<std::uint32_t>(gid);
  to.user = bytes_of(archive_entry_uname(from));
  to.group = bytes_of(archive_entry_gname(from));
  return nullptr;
}

Fault take_size(archive_entry* from, std::size_t chunk_bytes, Entry& to) {
  const la_int64_t size = archive_entry_size(from);
  if (size < 0) return "impossible size";
  to.size = static_cast<std::uint64_t>(size);
  to.data.clear();
  const int extents = archive_entry_sparse_reset(from);
  la_int64_t offset, length;
  std::uint64_t stored = extents > 0 ? 0 : to.size;
  // libarchive frees an extent that covers all of the file, counts none, and its next() would read it still.
  while (extents > 0 && archive_entry_sparse_next(from, &offset, &length) == ARCHIVE_OK) {
    if (offset < 0 || length < 0 || offset > size || length > size - offset) return "extent beyond the size";
    to.data.push_back({static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(length)});
    stored += static_cast<std::uint64_t>(length);
  }
  if (stored > chunk_bytes) return "size beyond the chunk";
  return to.type != EntryType::file && to.size > 0 ? "content where none is allowed" : nullptr;
}

void take_xattrs(archive_entry* from, Entry& to) {
  to.xattrs.clear();
  to.attributes_only = false;
  if (archive_entry_xattr_reset(from) == 0) return;
  const char* name;
  const void* value;
  std::size_t size;
  while (archive_entry_xattr_next(from, &name, &value, &size) == ARCHIVE_OK) {
    if (to.type == EntryType::fifo && bytes_of(name) == kSocketXattr) {
      to.type = EntryType::socket;
    } else if (bytes_of(name) == kAttributesXattr) {
      to.attributes_only = true;
    } else {
      to.xattrs.push_back({name, std::string(static_cast<const char*>(value), size)});
    }
  }
}

Fault take_acls(archive_entry* from, Entry& to) {
  to.access_acl.clear();
  to.default_acl.clear();
  if (archive_entry_acl_types(from) == 0) return nullptr;
  auto access = take_acl(from, ARCHIVE_ENTRY_ACL_TYPE_ACCESS);
  auto initial = take_acl(from, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT);
  if (!access || !initial) return "unknown kind of ACL";
  to.access_acl = std::move(*access);
  to.default_acl = std::move(*initial);
  // libarchive takes the group bits from the group_obj line, but on Linux they are those of the mask.
  for (const AclLine& line : to.access_acl) {
    if (line.tag == AclLine::Tag::mask) to.mode = (to.mode & ~0070u) | line.permissions << 3;
  }
  return nullptr;
}

Fault take_all(archive_entry* from, std::size_t chunk_bytes, const AdmittedNames& names, Entry& to) {
  if (Fault fault = take_type(from, names, to)) return fault;
  const bool is_directory = to.type == EntryType::directory;
  const std::string_view path = bytes_of(archive_entry_pathname(from));
  if (Fault fault = take_path(path, is_directory, names, to.path)) return fault;
  if (Fault fault = take_owner(from, to)) return fault;
  if (Fault fault = take_size(from, chunk_bytes, to)) return fault;
  to.mode = archive_entry_perm(from) & 07777;
  to.mtime.seconds = archive_entry_mtime(from);
  const bool is_device = to.type == EntryType::char_device || to.type == EntryType::block_device;
  to.device = is_device ? makedev(archive_entry_rdevmajor(from), archive_entry_rdevminor(from)) : 0;
  take_xattrs(from, to);
  const bool has_more = to.size > 0 || to.type == EntryType::hard_link || to.type == EntryType::directory;
  if (to.attributes_only && has_more) return "more than metadata where no more was announced";
  return take_acls(from, to);
}

}  // namespace

struct ArchiveReader::State {
  OwnedEntry entry{archive_entry_new()};
  std::unique_ptr<archive, FreeReader> reader;
  std::span<const std::byte> chunk;        // the archive proper
  std::span<const std::byte> nanoseconds;  // mtimes of the entries still to come
  std::string path;                        // path of the current entry, for messages
  std::uint64_t size = 0;                  // size of its content
  std::uint64_t content_end = 0;           // end of the blocks returned so far

  static std::uint32_t number_at(std::span<const std::byte> bytes) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < kNanosecondsBytes; ++i)
      number |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
    return number;
  }
  // Splits a chunk into archive and table. Returns false if it is too short for the number of entries that it
  // states.
  bool split(std::span<const std::byte> bytes) {
    if (bytes.size() < kNanosecondsBytes) return false;
    const std::size_t entries = number_at(bytes.last(kNanosecondsBytes));
    bytes = bytes.first(bytes.size() - kNanosecondsBytes);
    if (bytes.size() / kNanosecondsBytes < entries) return false;
    nanoseconds = bytes.last(entries * kNanosecondsBytes);
    chunk = bytes.first(bytes.size() - nanoseconds.size());
    return true;
  }
  // Returns false if there is no time for this entry, or an impossible one.
  bool take_nanoseconds(std::uint32_t& into) {
    if (nanoseconds.empty()) return false;
    into = number_at(nanoseconds);
    nanoseconds = nanoseconds.subspan(kNanosecondsBytes);
    return into < 1'000'000'000;
  }

  io::Error error(std::string_view subject) const {
    const char* text = archive_error_string(reader.get());
    return bad_archive(subject, text != nullptr ? text : "not an archive of ours");
  }
};

ArchiveReader::ArchiveReader(const AdmittedNames& names) : names_(names), state_(std::make_unique<State>()) {}
ArchiveReader::~ArchiveReader() = default;

io::Result<void> ArchiveReader::open(std::span<const std::byte> chunk) {
  State& state = *state_;
  state.path.clear();
  state.size = state.content_end = 0;
  if (!state.split(chunk)) return bad_archive("archive chunk", "its table of times is missing");
  chunk = state.chunk;
  // libarchive takes an archive that breaks off between two entries for a complete one.
  if (chunk.size() < kTarEndBytes || chunk.size() % kTarBlockBytes != 0 ||
      std::any_of(chunk.end() - kTarEndBytes, chunk.end(),
                  [](std::byte byte) { return byte != std::byte{0}; })) {
    return bad_archive("archive chunk", "its end is missing");
  }
  state.reader.reset(archive_read_new());
  archive_read_support_format_tar(state.reader.get());
  if (archive_read_open_memory(state.reader.get(), chunk.data(), chunk.size()) != ARCHIVE_OK) {
    return state.error("archive chunk");
  }
  return {};
}

io::Result<bool> ArchiveReader::next(Entry& entry) {
  State& state = *state_;
  assert(state.reader != nullptr);
  const int status = archive_read_next_header2(state.reader.get(), state.entry.get());
  if (status == ARCHIVE_EOF) {
    const auto end = archive_read_header_position(state.reader.get());
    if (end != static_cast<la_int64_t>(state.chunk.size() - kTarEndBytes)) {
      return bad_archive("archive chunk", "more after its end");
    }
    if (!state.nanoseconds.empty()) return bad_archive("archive chunk", "more times than entries");
    return false;
  }
  // A warning counts as an error: our own archives cause none.
  if (status != ARCHIVE_OK) return state.error("archive chunk");
  if (Fault fault = take_all(state.entry.get(), state.chunk.size(), names_, entry)) {
    return bad_archive(bytes_of(archive_entry_pathname(state.entry.get())), fault);
  }
  if (!state.take_nanoseconds(entry.mtime.nanoseconds)) return bad_archive(entry.path, "impossible time");
  state.path = entry.path;
  state.size = entry.size;
  state.content_end = 0;
  return true;
}

io::Result<std::optional<ArchiveReader::Block>> ArchiveReader::next_block() {
  State& state = *state_;
  assert(state.reader != nullptr);
  for (;;) {
    const void* bytes = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(state.reader.get(), &bytes, &length, &offset);
    if (status == ARCHIVE_EOF) return std::optional<Block>();
    if (status != ARCHIVE_OK) return state.error(state.path);
    if (length == 0) continue;  // a hole at the end
    const auto begin = static_cast<std::uint64_t>(offset);
    if (offset < 0 || begin < state.content_end || begin > state.size || length > state.size - begin) {
      return bad_archive(state.path, "content out of its place");
    }
    state.content_end = begin + length;
    return std::optional(Block{{static_cast<const std::byte*>(bytes), length}, begin});
  }
}

}  // namespace rdcp::tree
