// How a source ends a large file: whether it stayed as it was, its last word, its line in a list.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tree/source/source_worker.h"
#include "tree/source/stability.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

namespace {

// Since it was opened.
bool has_changed(const FileTransfer& file, const struct stat& now) {
  return !unchanged(file.opened().seen, now) || file.ended_early();
}

}  // namespace

// The file's last word: its metadata as they are now, its real size, its digest. One that changed while it
// was read is read anew, a few times; then what was read is sent with a stamp that no later run takes for the
// file's.
SourceWorker::Chunk SourceWorker::close_file(Work& work, std::span<std::byte> slot) {
  FileTransfer& file = *work.file;
  net::Frame frame = bare_frame(FrameKind::commit, file.id());
  frame.offset = file.length();
  frame.extra = file.digest();
  const Root& root = file.item().root();
  if (!root.opened || root.begin) {
    struct stat now {};
    if (::fstat(file.opened().fd.get(), &now) != 0) {
      source_.reporter_.problem(io::errno_error("stat", file.item().subject()));
      return give_up(work);
    }
    const bool changed = has_changed(file, now);
    if (changed && may_read_again(file)) {
      file.read_again();
      return give_up(work);
    }
    if (changed && file.note_change()) {
      source_.reporter_.problem(changed_error(file.item().subject(), file.readings() > 1));
    }
    if (!root.opened) {
      struct stat status = now;
      if (changed) status.st_mtim = torn_mtime(file.item().status, now, source_.job_.settings.sync);
      file.set_status(status);
    }
    // As if it had been read through the descriptor that was given.
    if (root.begin && ::lseek(source_.standard_.input,
                              static_cast<off_t>(file.opened().begin + file.length()), SEEK_SET) < 0) {
      source_.reporter_.problem(io::errno_error("seek in", file.item().subject()));
    }
  }
  const std::size_t length = packer_.pack_header(file, slot);
  if (length > 0) return with_digest(frame, slot, length);
  // Its metadata no longer fit: give it up rather than publish half of it.
  return give_up(work);
}

SourceWorker::Chunk SourceWorker::give_up(Work& work) {
  work.kind = Work::Kind::abandon;
  return Chunk(bare_frame(FrameKind::abandon, work.file->id()));
}

// Not where what was read has gone out for good, or stands in a stream that was given.
bool SourceWorker::may_read_again(const FileTransfer& file) const {
  return !source_.sends_holes_ && !file.item().root().opened && !file.change_was_told() &&
         file.readings() < kReadTries;
}

// Reads a large file's content once more, in order, for its line in a list. None: that cannot be told; where
// this is because of a failure, it has been reported.
io::Step<std::optional<io::Digest>> SourceWorker::digest_in_order(const FileTransfer& file,
                                                                  std::span<std::byte> slot) {
  io::RunningDigest content;
  for (std::uint64_t at = 0; at < file.length();) {
    io::RingFile place = file.opened().file;
    place.beside = std::exchange(place.resident, false) || place.beside;  // other slots go on meanwhile
    const io::IoResult read = co_await ring_->read(place, slot, at);
    if (read.error != 0) {
      source_.reporter_.problem(
          io::errno_error("read for the list of digests", file.item().subject(), read.error));
      co_return std::nullopt;
    }
    const std::size_t bytes = std::min<std::uint64_t>(read.bytes, file.length() - at);
    if (bytes == 0) co_return std::nullopt;  // it has become shorter, which close_file() meets
    const Stopwatch watch(times_.digest_ns);
    content.add(slot.first(bytes));
    at += bytes;
  }
  co_return content.finish();
}

Packer::Packed SourceWorker::sums_of(const FileTransfer& file, const io::Digest& content) const {
  SumLine line;
  line.path = file.item().entry_path();
  line.size = file.length();
  line.mtime = file.opened().status.st_mtim.tv_sec;
  line.mtime_ns = static_cast<std::uint32_t>(file.opened().status.st_mtim.tv_nsec);
  line.digest = content;
  line.linked = file.item().status.st_nlink > 1;
  Packer::Packed packed;
  packed.sums.push_back(std::move(line));
  return packed;
}

void SourceWorker::settle_close(Work& work, const Chunk& chunk, AckStatus status) {
  const FileTransfer& file = *work.file;
  if (work.kind == Work::Kind::commit && status == AckStatus::done) {
    ++source_.counters_.files;
    source_.counters_.bytes -= file.surplus();
    if (source_.sums_ != nullptr) source_.sums_->add(chunk.packed.sums);
  } else if (file.begins_anew()) {  // it begins anew
    source_.counters_.bytes -= file.settled_bytes();
    source_.counters_.kept_bytes -= file.kept_bytes();
  } else {
    source_.plan_.linked().pass_on(file.item());
  }
  work.file->close();
  source_.plan_.settle_file(work.file);
  work.file.reset();
}

}  // namespace rdcp::tree
