#include "tree/handlers/file_writer.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "io/retry.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;

// Finds the file of a data chunk and checks the chunk against it. Null: the run is over.
TargetFileRef FileWriter::find(const net::Frame& frame) {
  TargetFileRef file = context_.session.files.open.find(frame.file_id);
  if (file == nullptr) {
    context_.protocol_error("bytes for a file that is not open");
    return nullptr;
  }
  if (file->compares) {
    context_.protocol_error("bytes for a file that is only compared");
    return nullptr;
  }
  // Sums are checked before they are used: neither side of these comparisons can overflow.
  const bool aligned = file->ordered || frame.offset % io::kPageBytes == 0;
  if (frame.offset > file->size || frame.length > file->size - frame.offset || !aligned) {
    context_.protocol_error("an extent outside its file");
    return nullptr;
  }
  return file;
}

// Waits until all before the chunk is written. Returns false if that will not happen.
io::Step<bool> FileWriter::wait_for_turn(TargetFile& file, std::uint64_t offset) {
  while (file.next_offset < offset && !file.has_failed() && context_.may_wait()) {
    co_await context_.turns->wait();
  }
  // Sent once more after a stream was lost, and cut otherwise than the first time.
  if (file.next_offset > offset && file.fail()) {
    context_.report(io::plain_error(ErrorKind::file, "write", file.subject,
                                    "the source changed what had been written already"));
    context_.wake_waiting();
  }
  co_return file.next_offset == offset && !file.has_failed();
}

io::Step<AckStatus> FileWriter::write(const net::Frame& frame, std::span<std::byte> slot) {
  const TargetFileRef file = find(frame);
  if (file == nullptr || file->has_failed()) co_return AckStatus::refused;
  if (file->ordered) {
    const bool in_turn = co_await wait_for_turn(*file, frame.offset);
    if (!in_turn) co_return AckStatus::refused;
  }
  io::RingFile place = file->place();
  const RegisteredFiles::Use use = context_.files->find(file->serial, place);
  std::size_t bytes = frame.length;
  if (place.direct) {  // the rest of the last page; the commit cuts it off
    bytes = io::round_up(bytes, io::kPageBytes);
    std::memset(slot.data() + frame.length, 0, bytes - frame.length);
  }
  const std::uint64_t offset = file->ordered ? io::kNoOffset : frame.offset;
  const io::IoResult result = co_await context_.ring->write(place, slot.first(bytes), offset);
  if (context_.read_back != nullptr && result.error == 0 && result.bytes == bytes) {
    const AckStatus read = co_await read_back_.check(*file, frame, slot);
    if (read != AckStatus::done) co_return read;
  }
  co_return failed_to_write(*file, result, bytes) ? AckStatus::refused : count(*file, frame);
}

AckStatus FileWriter::count(TargetFile& file, const net::Frame& frame) {
  file.add(frame.offset, frame.length, frame.digest);
  if (Journal* journal = file.journal()) journal->add(frame.offset, frame.length, frame.digest);
  if (file.ordered) {
    file.next_offset += frame.length;
    context_.wake_waiting();
  }
  context_.session.tally.bytes += frame.length;
  return AckStatus::done;
}

void FileWriter::take_back(const CachedReply& before) {
  // A chunk that was answered in another way, as bad_digest where it was not read back as it came, was not
  // added.
  const bool added = before.frame.kind == net::FrameKind::data && before.status == AckStatus::done;
  const TargetFileRef file = added ? context_.session.files.open.find(before.frame.file_id) : nullptr;
  if (file == nullptr) return;
  file->remove(before.frame);
  context_.session.tally.bytes -= before.frame.length;
}

void FileWriter::drop_part(TargetFile& file) {
  if (!file.opened || !file.opened->part || file.part_dropped.exchange(true)) return;
  if (const auto dropped = context_.tree->beside(file.path, file.opened->part->drop()); dropped) {
    --context_.session.tally.parts;
  } else {
    context_.report(dropped.error());
  }
}

bool FileWriter::failed_to_write(TargetFile& file, const io::IoResult& result, std::size_t wanted) {
  if (result.error == 0 && result.bytes >= wanted) return false;
  const int code = result.error != 0 ? result.error : EIO;
  const ErrorKind kind = code == EPIPE ? ErrorKind::reader_gone : ErrorKind::file;
  if (file.fail()) {
    context_.report(io::errno_error("write", file.subject, code, kind));
    // A full disk gets its room back.
    if (code == ENOSPC || code == EDQUOT) drop_part(file);
  }
  context_.wake_waiting();
  return true;
}

AckStatus FileWriter::copy_range(const net::Frame& frame) {
  const TargetFileRef file = context_.session.files.open.find(frame.file_id);
  std::int64_t from = -1;
  std::uint64_t length = 0;
  std::memcpy(&from, frame.extra.bytes.data(), sizeof from);
  std::memcpy(&length, frame.extra.bytes.data() + sizeof from, sizeof length);
  if (file == nullptr || frame.offset > file->size || length > file->size - frame.offset) {
    context_.protocol_error("a kernel copy outside of what is open");
    return AckStatus::refused;
  }
  if (!file->has_name()) return AckStatus::unsupported;
  const int to = file->fd();
  file_clone_range clone{
      .src_fd = from, .src_offset = frame.offset, .src_length = length, .dest_offset = frame.offset};
  const bool cloned = ::ioctl(to, FICLONERANGE, &clone) == 0;
  auto in = static_cast<off64_t>(frame.offset);
  auto out = in;
  for (std::uint64_t left = cloned ? 0 : length; left > 0;) {
    const ssize_t n =
        io::retry_eintr([&] { return ::copy_file_range(static_cast<int>(from), &in, to, &out, left, 0); });
    // A source that has become shorter is met again, and reported, when the rest is read as data.
    if (n <= 0 && (n == 0 || errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)) {
      return AckStatus::unsupported;
    }
    if (n < 0) {
      if (file->fail()) context_.report(io::errno_error("write", file->subject));
      return AckStatus::refused;
    }
    left -= static_cast<std::uint64_t>(n);
  }
  file->have({frame.offset, length});
  if (Journal* const journal = file->journal()) journal->add_without_digest(frame.offset, length);
  context_.session.tally.bytes += length;
  return AckStatus::done;
}

}  // namespace rdcp::tree
