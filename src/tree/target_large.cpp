// Large files at the target: opened, filled, committed.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tree/target_worker.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;
using net::FrameKind;

// The one entry of an open or commit frame. False: protocol error, reported.
bool TargetWorker::read_header(std::span<const std::byte> header, Entry& entry) {
  const auto opened = reader_.open(header);
  const auto more = opened ? reader_.next(entry) : io::Result<bool>(opened.error());
  if (!more) {
    fail(more.error());
    return false;
  }
  if (!*more || entry.type != EntryType::file || entry.size != 0) {
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
    auto opened = tree_->open_file(entry);
    if (!opened) {
      report(opened.error());
      return AckStatus::refused;
    }
    file->opened = std::move(*opened);
    const int fd = file->opened->file.fd();
    const bool sized = file->size != kUnknownSize;
    if (sized && (frame.flags & net::kFlagSparse) == 0) {
      auto reserved = io::preallocate(fd, file->size);
      if (!reserved) {
        io::Error error = std::move(reserved).error();
        error.subject = file->subject;
        report(error);
        return AckStatus::refused;
      }
    }
    file->file = io::choose_target(fd, sized ? file->size : 0, target_.job_.settings.cache);
  }
  if (!target_.files_.add(file)) {
    protocol_error("a file opened twice, or too many files open");
    return AckStatus::refused;
  }
  return file->file.direct || !file->opened ? AckStatus::done : AckStatus::in_turn;
}

// The answer to a frame that had been answered on a stream that was lost, if it stands. Bytes and openings
// are taken back and done once more, since the file may have changed at the source between the two times.
std::optional<AckStatus> TargetWorker::answer_again(const net::Frame& frame) {
  if ((frame.flags & net::kFlagAgain) == 0) return std::nullopt;
  const auto before = target_.unheard_.take(frame);
  if (!before) return std::nullopt;
  if (before->status == AckStatus::refused || frame.kind == FrameKind::commit) return before->status;
  if (frame.kind == FrameKind::open) target_.files_.take(frame.file_id);
  const TargetFileRef file =
      frame.kind == FrameKind::data ? target_.files_.find(frame.file_id) : TargetFileRef();
  if (file != nullptr) {
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
  if (result.error != 0 || result.bytes < wanted) {
    const int code = result.error != 0 ? result.error : EIO;
    const ErrorKind kind = code == EPIPE ? ErrorKind::reader_gone : ErrorKind::file;
    if (file.fail()) report(io::errno_error("write", file.subject, code, kind));
    turns_->wake_all();
    return AckStatus::refused;
  }
  file.add(frame);
  if (file.ordered) {
    file.next_offset += frame.length;
    turns_->wake_all();
  }
  target_.bytes_ += frame.length;
  return AckStatus::done;
}

// Local copies only, where the source's descriptor is one of ours: clone the blocks, else let the kernel copy
// them.
AckStatus TargetWorker::copy_range(const net::Frame& frame) {
  const TargetFileRef file = target_.files_.find(frame.file_id);
  std::int64_t from = -1;
  std::uint64_t length = 0;
  std::memcpy(&from, frame.extra.bytes.data(), sizeof from);
  std::memcpy(&length, frame.extra.bytes.data() + sizeof from, sizeof length);
  if (target_.job_.streams.connect != Connect::in_process || file == nullptr || frame.offset > file->size ||
      length > file->size - frame.offset) {
    protocol_error("a kernel copy that was not agreed on");
    return AckStatus::refused;
  }
  if (!file->opened) return AckStatus::unsupported;
  const int to = file->opened->file.fd();
  file_clone_range clone{
      .src_fd = from, .src_offset = frame.offset, .src_length = length, .dest_offset = frame.offset};
  if (::ioctl(to, FICLONERANGE, &clone) == 0) {
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
    fail(io::plain_error(ErrorKind::digest, "write", file->subject,
                         "the digest of the whole file does not match"));
    return AckStatus::refused;
  }
  if (file->has_failed()) return AckStatus::refused;
  if (!file->opened) return AckStatus::done;
  const auto put = put_in_place(*file, entry, frame.offset);
  if (!put) report(put.error());
  return put ? AckStatus::done : AckStatus::refused;
}

io::Result<void> TargetWorker::put_in_place(TargetFile& file, const Entry& entry, std::uint64_t size) {
  UnnamedFile& unnamed = file.opened->file;
  struct stat status {};
  if (::fstat(unnamed.fd(), &status) != 0) return io::errno_error("stat", file.subject);
  if (static_cast<std::uint64_t>(status.st_size) != size &&
      ::ftruncate(unnamed.fd(), static_cast<off_t>(size)) != 0) {
    return io::errno_error("truncate", file.subject);
  }
  auto done = apply_metadata(unnamed.fd(), entry, ~0u, target_.policy_, target_.names_, target_.losses_,
                             file.subject);
  if (done) done = unnamed.publish(file.opened->directory.get(), split_path(file.path).name, file.subject);
  if (done) done = unnamed.close(file.subject);
  return done;
}

}  // namespace rdcp::tree
