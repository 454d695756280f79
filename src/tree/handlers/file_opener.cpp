#include "tree/handlers/file_opener.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "tree/pages/probe.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;

FileOpener::FileOpener(TargetContext& context, FileWriter& writer, Comparer* comparer)
    : context_(context), writer_(writer), comparer_(comparer), reader_(context.session.guards.admitted) {}

AckStatus FileOpener::open(const net::Frame& frame, std::span<const std::byte> header) {
  auto file = std::make_shared<TargetFile>();
  Entry entry;
  if (!context_.read_header(reader_, header, entry)) return AckStatus::refused;
  file->id = frame.file_id;
  file->path = entry.path;
  const auto& ledger = context_.session.guards.ledger;
  if (ledger) ledger->entries.remove(entry.path.text());
  file->size = frame.offset;
  if (file->size > kUnknownSize) {
    context_.protocol_error("a file of impossible size");
    return AckStatus::refused;
  }
  const bool compares = (frame.flags & net::kFlagCompare) != 0;
  // It is sent because another target lacks it.
  FilesUnderWay& files = context_.session.files;
  if (files.others && !compares && files.refused.is_equal(file->path)) return AckStatus::refused;
  // From now on the file is wanted until its commit comes.
  if (ledger) context_.want(ledger->entries, entry.path);
  const TargetPlace& place = context_.session.place;
  if (place.in_place) {
    file->subject = place.name;
    file->file.fd = place.in_place.get();
    file->ordered = place.ordered;
    return add(std::move(file), AckStatus::done);
  }
  file->subject = context_.tree->subject(entry.path);
  const AckStatus status = compares ? open_to_compare(*file, entry) : open_to_write(*file, entry, frame);
  if (status == AckStatus::refused || status == AckStatus::unsupported) return status;
  return add(std::move(file), status);
}

// Into the table of files that are open. The answer is `status`, unless there is no room for the file.
AckStatus FileOpener::add(TargetFileRef file, AckStatus status) {
  if (context_.session.files.open.add(std::move(file))) return status;
  context_.protocol_error("a file opened twice, or too many files open");
  return AckStatus::refused;
}

AckStatus FileOpener::open_to_write(TargetFile& file, const Entry& entry, const net::Frame& frame) {
  const auto spelled = context_.claim(entry.path);
  const auto opened = spelled ? open_place(file, entry, frame) : spelled;
  if (!opened) {
    context_.report(opened.error());
    return AckStatus::refused;
  }
  if (file.has_part() && block_bytes_for(context_.shape.slot_bytes) > 0) {  // the source should ask for it
    file.asked = true;
    return AckStatus::has_part;
  }
  file.old = find_basis(file, entry);
  if (file.old != nullptr) return file.old->is_other ? AckStatus::has_like : AckStatus::has_basis;
  // A hole leaves what an old file has there, unless the two are compared.
  if (file.overwritten && (frame.flags & net::kFlagSparse) != 0) return AckStatus::unsupported;
  return file.file.direct ? AckStatus::done : AckStatus::in_turn;
}

// Opens what the file's bytes are written to: a new file, or the old one.
io::Result<void> FileOpener::open_place(TargetFile& file, const Entry& entry, const net::Frame& frame) {
  const auto overwrites = open_overwritten(file);
  if (!overwrites) return overwrites.error();
  if (!*overwrites) {
    if (auto opened = open_new(file, entry, frame); !opened) return opened;
  }
  io::CacheMode cache = context_.settings().cache;
  // A file that is read back from the disk is written past the page cache.
  if (context_.read_back != nullptr && cache == io::CacheMode::automatic) cache = io::CacheMode::bypass;
  const bool sized = file.size != kUnknownSize;
  file.file = io::choose_target(file.fd(), sized ? file.size : 0, cache);
  return {};
}

io::Result<void> FileOpener::open_new(TargetFile& file, const Entry& entry, const net::Frame& frame) {
  const CopySettings& settings = context_.settings();
  const bool sized = file.size != kUnknownSize;
  const bool has_tree = !context_.session.guards.only;
  const bool keeps_part = sized && has_tree && frame.extra != io::Digest{} && file.size >= kPartBytesMin;
  // There may be a part of the file as it was when it was larger, in an earlier run or earlier in this one.
  if (sized && has_tree && !keeps_part) {
    if (const auto forgotten = context_.tree->forget_part(file.path); !forgotten) {
      context_.report(forgotten.error());
    }
  }
  const PartWish wish{.source = {frame.extra, file.size},
                      .resume = settings.resume,
                      .doubt = settings.verify,
                      .lock = [this](int fd) { return lock_part(fd); }};
  auto opened = context_.tree->open_file(entry, keeps_part ? &wish : nullptr);
  if (!opened) return std::move(opened).error();
  file.opened = std::move(*opened);
  if (file.opened->part) ++context_.session.tally.parts;
  const bool sparse = (frame.flags & net::kFlagSparse) != 0;
  auto reserved = sized && !sparse ? io::preallocate(file.fd(), file.size) : io::Result<void>();
  if (reserved) return {};
  writer_.drop_part(file);
  io::Error error = std::move(reserved).error();
  error.subject = file.subject;
  return error;
}

// With --inplace. Returns false where no file is there to be written to. One with several names is not,
// because the others may be files of their own at the source, which are written at the same time or were
// found equal.
io::Result<bool> FileOpener::open_overwritten(TargetFile& file) {
  if (!context_.settings().inplace) return false;
  file.overwritten = context_.tree->open_old(file.path, O_RDWR);
  struct stat status {};
  if (file.overwritten && ::fstat(file.fd(), &status) != 0) return io::errno_error("stat", file.subject);
  if (status.st_nlink > 1) {
    file.overwritten.reset();
    return false;
  }
  if (file.overwritten) {
    if (auto locked = lock_overwritten(file); !locked) return locked.error();
    file.stays = true;
    context_.session.tally.has_put = true;
    return true;
  }
  const bool none =
      errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO || errno == EISDIR;
  if (none) return false;
  return io::errno_error("open", file.subject);
}

// Once this run has a part, it may itself have the lock; and a run that was killed before is gone by then.
bool FileOpener::lock_part(int journal) {
  const auto may_wait = [this] { return !context_.giving_up() && context_.session.tally.parts == 0; };
  return part_patience_.lock(journal, may_wait);
}

// Two runs that write a file in place at the same time would mix their bytes. The lock goes with the
// descriptor.
io::Result<void> FileOpener::lock_overwritten(const TargetFile& file) {
  if (in_place_patience_.lock(file.overwritten.get(), [this] { return !context_.giving_up(); })) return {};
  if (lacks_locks(errno)) {
    context_.session.tally.lacks_locks = true;
    return {};
  }
  if (errno != EWOULDBLOCK) return io::errno_error("lock", file.subject);
  return io::plain_error(
      ErrorKind::file, "write", file.subject,
      "another copy is writing into it in place; run this copy again when that one has ended");
}

// Null: there is no file that would help.
std::unique_ptr<BasisFile> FileOpener::find_basis(const TargetFile& file, const Entry& entry) {
  const CopySettings& settings = context_.settings();
  const std::uint64_t least = block_bytes_for(context_.shape.slot_bytes);
  const bool of_use = settings.delta && context_.session.job.streams.connect != Connect::in_process &&
                      file.size != kUnknownSize && file.size > 0 && least > 0;
  if (!of_use) return nullptr;
  auto basis = std::make_unique<BasisFile>();
  basis->fd = context_.tree->open_old(file.path, O_RDONLY);
  basis->is_other = !basis->fd;
  if (!basis->fd) basis->fd = find_like(file, entry);
  if (!basis->fd || ::fstat(basis->fd.get(), &basis->status) != 0 || basis->size() < least) return nullptr;
  // A block that has moved in one target's old file is somewhere else in another's.
  const bool alone = !context_.session.files.others;
  basis->may_have_moved = alone && !basis->is_other && !file.stays && basis->size() != file.size;
  basis->file = io::choose_source(basis->fd.get(), basis->size(), settings.cache);
  return basis;
}

// A file that may be the missing one under another name.
io::Fd FileOpener::find_like(const TargetFile& file, const Entry& entry) {
  const TargetPlace& place = context_.session.place;
  const bool of_use = place.is_directory && !context_.settings().inplace;
  if (!of_use || file.size < BasisCandidates::kBytesMin) return {};
  const auto path =
      context_.session.files.candidates.find(place.root.get(), file.path, file.size, entry.mtime);
  return path ? context_.tree->open_old(*path, O_RDONLY) : io::Fd();
}

// A file that is only compared needs an old one of its size; nothing is made. An old file with other names is
// of no use if its metadata are to change: those names may be files of their own at the source, or not be
// part of this copy at all.
AckStatus FileOpener::open_to_compare(TargetFile& file, const Entry& entry) {
  auto basis = std::make_unique<BasisFile>();
  basis->fd = context_.tree->open_old(file.path, O_RDONLY);
  const bool fits = basis->fd && ::fstat(basis->fd.get(), &basis->status) == 0 && basis->size() == file.size;
  if (!fits || block_bytes_for(context_.shape.slot_bytes) == 0) return AckStatus::unsupported;
  if (basis->status.st_nlink > 1 && (comparer_ == nullptr || !comparer_->has_metadata_of(entry))) {
    return AckStatus::unsupported;
  }
  basis->file = io::choose_source(basis->fd.get(), basis->size(), context_.settings().cache);
  file.old = std::move(basis);
  file.compares = true;
  file.stays = true;
  return AckStatus::has_basis;
}

}  // namespace rdcp::tree
