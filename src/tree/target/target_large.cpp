// Large files at the target: opened, filled, committed.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tree/fs/heard_close.h"
#include "tree/resume/own_lock.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;
using net::FrameKind;

// The one entry of an open or commit frame. False: protocol error, reported.
bool TargetWorker::read_header(std::span<const std::byte> header, Entry& entry) {
  const auto opened = reader_.open(header);
  const auto more = opened ? next_entry(reader_, entry) : io::Result<bool>(opened.error());
  if (!more) {
    fail(more.error());
    return false;
  }
  if (!*more || entry.type != EntryType::file || entry.size != 0 || entry.attributes_only) {
    protocol_error("a file without a header");
    return false;
  }
  if (target_.only_file_mode_) entry = target_.only_file();
  return true;
}

AckStatus TargetWorker::open_file(const net::Frame& frame, std::span<const std::byte> header) {
  auto file = std::make_shared<TargetFile>();
  Entry entry;
  if (!read_header(header, entry)) return AckStatus::refused;
  file->id = frame.file_id;
  file->path = entry.path;
  file->size = frame.offset;
  if (file->size > kUnknownSize) {
    protocol_error("a file of impossible size");
    return AckStatus::refused;
  }
  if (target_.in_place_) {
    file->subject = target_.root_name_;
    file->file.fd = target_.in_place_.get();
    file->ordered = target_.ordered_;
  } else {
    file->subject = tree_->subject(entry.path);
    if ((frame.flags & net::kFlagCompare) != 0) {
      const AckStatus status = open_to_compare(*file, entry);
      if (status != AckStatus::has_basis || target_.files_.add(file)) return status;
      protocol_error("a file opened twice, or too many files open");
      return AckStatus::refused;
    }
    const auto spelled = target_.spellings_.claim(entry.path, file->subject);
    const auto opened = spelled ? open_place(*file, entry, frame) : spelled;
    if (!opened) {
      report(opened.error());
      return AckStatus::refused;
    }
    if (has_part(*file)) {
      file->asked = true;
    } else {
      file->old = find_old(*file, entry);
    }
    // A hole leaves what an old file has there, unless the two are compared.
    const bool needs_holes =
        file->overwritten && file->old == nullptr && (frame.flags & net::kFlagSparse) != 0;
    if (needs_holes) return AckStatus::unsupported;
  }
  if (!target_.files_.add(file)) {
    protocol_error("a file opened twice, or too many files open");
    return AckStatus::refused;
  }
  if (file->asked) return AckStatus::has_part;
  if (file->old != nullptr) return file->old->is_other ? AckStatus::has_like : AckStatus::has_basis;
  return file->file.direct || !file->has_name() ? AckStatus::done : AckStatus::in_turn;
}

// Opens what the file's bytes are written to: a new file, or the old one.
io::Result<void> TargetWorker::open_place(TargetFile& file, const Entry& entry, const net::Frame& frame) {
  const bool sized = file.size != kUnknownSize;
  const bool sparse = (frame.flags & net::kFlagSparse) != 0;
  const auto overwrites = open_overwritten(file);
  if (!overwrites) return overwrites.error();
  if (!*overwrites) {
    const CopySettings& settings = target_.job_.settings;
    const PartWish wish{
        .source = {frame.extra, file.size}, .resume = settings.resume, .doubt = settings.verify};
    const bool keeps_part =
        sized && !target_.only_file_mode_ && frame.extra != io::Digest{} && file.size >= kPartBytesMin;
    // Of the file as it was when it was larger, in an earlier run or before it changed in this one.
    if (sized && !keeps_part && !target_.only_file_mode_) {
      if (const auto forgotten = tree_->forget_part(file.path); !forgotten) report(forgotten.error());
    }
    auto opened = tree_->open_file(entry, keeps_part ? &wish : nullptr);
    if (!opened) return std::move(opened).error();
    file.opened = std::move(*opened);
    if (file.opened->part) ++target_.parts_;
    auto reserved = sized && !sparse ? io::preallocate(file.fd(), file.size) : io::Result<void>();
    if (!reserved) {
      drop_part(file);
      io::Error error = std::move(reserved).error();
      error.subject = file.subject;
      return error;
    }
  }
  io::CacheMode cache = target_.job_.settings.cache;
  // What is to be read from the disk had better be written to it.
  if (read_back_ != nullptr && cache == io::CacheMode::automatic) cache = io::CacheMode::bypass;
  file.file = io::choose_target(file.fd(), sized ? file.size : 0, cache);
  return {};
}

// --inplace: false where no file is there to be written to.
io::Result<bool> TargetWorker::open_overwritten(TargetFile& file) {
  if (!target_.job_.settings.inplace) return false;
  file.overwritten = tree_->open_old(file.path, O_RDWR);
  if (file.overwritten) {
    if (auto locked = lock_overwritten(file); !locked) return locked.error();
    file.stays = true;
    target_.put_ = true;
    return true;
  }
  const bool none =
      errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO || errno == EISDIR;
  if (none) return false;
  return io::errno_error("open", file.subject);
}

// What two runs write in place at the same time would be a mix of both. The lock goes with the descriptor.
io::Result<void> TargetWorker::lock_overwritten(const TargetFile& file) {
  if (lock_patience_.lock(file.overwritten.get(), [this] { return !giving_up(); })) return {};
  if (lacks_locks(errno)) {
    target_.no_locks_ = true;
    return {};
  }
  if (errno != EWOULDBLOCK) return io::errno_error("lock", file.subject);
  return io::plain_error(ErrorKind::file, "write", file.subject,
                         "another copy writes into it in place; run this one again when that has ended");
}

// The answer to a frame that had been answered on a stream that was lost, if it stands. Bytes and openings
// are taken back and done once more, since the file may have changed at the source between the two times;
// a question comes again as it was.
std::optional<CachedReply> TargetWorker::answer_again(const net::Frame& frame) {
  if ((frame.flags & net::kFlagAgain) == 0) return std::nullopt;
  const auto before = target_.unheard_.take(frame);
  if (!before) return std::nullopt;
  const bool stands = frame.kind == FrameKind::commit || frame.kind == FrameKind::compare ||
                      frame.kind == FrameKind::probe || frame.kind == FrameKind::names;
  if (before->status == AckStatus::refused || stands) return before;
  if (frame.kind == FrameKind::open) target_.files_.take(frame.file_id);
  const TargetFileRef file =
      frame.kind == FrameKind::data ? target_.files_.find(frame.file_id) : TargetFileRef();
  // What was answered otherwise, as bad_digest where it was not read back as it came, was not added.
  if (file != nullptr && before->status == AckStatus::done) {
    file->remove(before->frame);
    target_.bytes_ -= before->frame.length;
  }
  return std::nullopt;
}

TargetFileRef TargetWorker::find_for_data(const net::Frame& frame) {
  TargetFileRef file = target_.files_.find(frame.file_id);
  if (file == nullptr) {
    protocol_error("bytes for a file that is not open");
    return nullptr;
  }
  if (file->compares) {
    protocol_error("bytes for a file that is only compared");
    return nullptr;
  }
  // Sums are checked before they are used: neither side of these comparisons can overflow.
  const bool aligned = file->ordered || frame.offset % io::kPageBytes == 0;
  if (frame.offset > file->size || frame.length > file->size - frame.offset || !aligned) {
    protocol_error("an extent outside its file");
    return nullptr;
  }
  return file;
}

AckStatus TargetWorker::written(TargetFile& file, const net::Frame& frame, const io::IoResult& result,
                                std::size_t wanted) {
  if (failed_to_write(file, result, wanted)) return AckStatus::refused;
  file.add(frame.offset, frame.length, frame.digest);
  if (Journal* journal = file.journal()) journal->add(frame.offset, frame.length, frame.digest);
  if (file.ordered) {
    file.next_offset += frame.length;
    next_turn();
  }
  target_.bytes_ += frame.length;
  return AckStatus::done;
}

// No later run is to go on with it.
void TargetWorker::drop_part(TargetFile& file) {
  if (!file.opened || !file.opened->part || file.part_dropped.exchange(true)) return;
  if (const auto dropped = tree_->beside(file.path, file.opened->part->drop()); dropped) {
    --target_.parts_;
  } else {
    report(dropped.error());
  }
}

bool TargetWorker::failed_to_write(TargetFile& file, const io::IoResult& result, std::size_t wanted) {
  if (result.error == 0 && result.bytes >= wanted) return false;
  const int code = result.error != 0 ? result.error : EIO;
  const ErrorKind kind = code == EPIPE ? ErrorKind::reader_gone : ErrorKind::file;
  if (file.fail()) {
    report(io::errno_error("write", file.subject, code, kind));
    // A full disk gets its room back.
    if (code == ENOSPC || code == EDQUOT) drop_part(file);
  }
  next_turn();
  return true;
}

// Of an ordered file: on this stream or another.
void TargetWorker::next_turn() {
  turns_->wake_all();
  target_.streams_.wake_others(index_);
}

// Local copies only, where the source's descriptor is one of ours: clone the blocks, else let the kernel copy
// them.
AckStatus TargetWorker::copy_range(const net::Frame& frame) {
  const TargetFileRef file = target_.files_.find(frame.file_id);
  std::int64_t from = -1;
  std::uint64_t length = 0;
  std::memcpy(&from, frame.extra.bytes.data(), sizeof from);
  std::memcpy(&length, frame.extra.bytes.data() + sizeof from, sizeof length);
  if (file == nullptr || frame.offset > file->size || length > file->size - frame.offset) {
    protocol_error("a kernel copy outside of what is open");
    return AckStatus::refused;
  }
  if (!file->has_name()) return AckStatus::unsupported;
  const int to = file->fd();
  file_clone_range clone{
      .src_fd = from, .src_offset = frame.offset, .src_length = length, .dest_offset = frame.offset};
  Journal* const journal = file->journal();
  if (::ioctl(to, FICLONERANGE, &clone) == 0) {
    if (journal != nullptr) journal->add_without_digest(frame.offset, length);
    target_.bytes_ += length;
    return AckStatus::done;
  }
  auto in = static_cast<off64_t>(frame.offset);
  auto out = in;
  for (std::uint64_t left = length; left > 0;) {
    const ssize_t n = ::copy_file_range(static_cast<int>(from), &in, to, &out, left, 0);
    if (n < 0 && errno == EINTR) continue;
    // A source that has become shorter is met again, and told, when the rest is read as data.
    if (n <= 0 && (n == 0 || errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)) {
      return AckStatus::unsupported;
    }
    if (n < 0) {
      if (file->fail()) report(io::errno_error("write", file->subject));
      return AckStatus::refused;
    }
    left -= static_cast<std::uint64_t>(n);
  }
  if (journal != nullptr) journal->add_without_digest(frame.offset, length);
  target_.bytes_ += length;
  return AckStatus::done;
}

AckStatus TargetWorker::commit(const net::Frame& frame, std::span<const std::byte> header) {
  Entry entry;
  if (!read_header(header, entry)) return AckStatus::refused;
  const TargetFileRef file = target_.files_.take(frame.file_id);
  if (file == nullptr || entry.path != file->path || frame.offset > file->size) {
    protocol_error("a commit that does not fit its file");
    return AckStatus::refused;
  }
  if (file->value() != frame.extra) {
    drop_part(*file);
    fail(io::plain_error(ErrorKind::digest, "write", file->subject,
                         "the digest of the whole file does not match"));
    return AckStatus::refused;
  }
  if (file->has_failed()) return AckStatus::refused;
  if (!file->has_name() && !file->compares) return AckStatus::done;
  const auto put =
      file->compares ? keep_equal(*file, entry, frame.offset) : put_in_place(*file, entry, frame.offset);
  if (!put) report(put.error());
  return put ? AckStatus::done : AckStatus::refused;
}

io::Result<void> TargetWorker::put_in_place(TargetFile& file, const Entry& entry, std::uint64_t size) {
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) return io::errno_error("stat", file.subject);
  if (static_cast<std::uint64_t>(status.st_size) != size &&
      ::ftruncate(file.fd(), static_cast<off_t>(size)) != 0) {
    return io::errno_error("truncate", file.subject);
  }
  if (file.old != nullptr && file.old->was_cloned && file.old->has_changed()) {
    return io::plain_error(ErrorKind::file, "write", file.subject,
                           "the old file, of which parts were taken over, was changed meanwhile");
  }
  // Before it gets the times by which a later run takes it for whole.
  auto done = file.opened ? io::Result<void>() : hear_close(file.fd(), file.subject);
  if (done) {
    done =
        apply_metadata(file.fd(), entry, ~0u, target_.policy_, target_.names_, target_.losses_, file.subject);
  }
  if (!file.opened) {
    if (done && file.overwritten.close() != 0) return io::errno_error("close", file.subject);
    return done;
  }
  UnnamedFile& unnamed = file.opened->file;
  if (done) {
    done = tree_->flush(unnamed.fd(), file.subject);
    if (done) done = unnamed.hear_close(file.subject);
    // What did not get to the disk is in no cache either, by then.
    if (!done) drop_part(file);
  }
  const int directory = file.opened->directory.get();
  if (done) {
    done = tree_->publish(directory, file.path, [&](const std::string& name) {
      return unnamed.publish(directory, name, file.subject);
    });
  }
  if (done) done = unnamed.close(file.subject);
  if (done && file.opened->part) done = tree_->beside(file.path, file.opened->part->forget_journal());
  return done;
}

}  // namespace rdcp::tree
