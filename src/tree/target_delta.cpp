// Large files of which the target has something already: what it has is compared, and taken over.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "tree/probe.h"
#include "tree/target_worker.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;

namespace {

constexpr auto kPresent = static_cast<std::uint8_t>(PieceVerdict::present);

// The filesystem shares the extent between both files. What it does not take is written instead.
bool clone_range(OldFile& old, int to, const io::Extent& extent) {
  if (!old.clones) return false;
  file_clone_range range{.src_fd = old.fd.get(),
                         .src_offset = extent.offset,
                         .src_length = extent.length,
                         .dest_offset = extent.offset};
  if (::ioctl(to, FICLONERANGE, &range) != 0) {
    old.clones = false;
    return false;
  }
  old.was_cloned = true;
  return true;
}

}  // namespace

// Null: there is none that would help.
std::unique_ptr<OldFile> TargetWorker::find_old(const TargetFile& file) {
  const CopySettings& settings = target_.job_.settings;
  const bool of_use = settings.delta && target_.job_.streams.connect != Connect::in_process &&
                      file.size != kUnknownSize && block_bytes_for(shape_.slot_bytes) > 0;
  if (!of_use) return nullptr;
  auto old = std::make_unique<OldFile>();
  old->fd = tree_->open_old(file.path, O_RDONLY);
  if (!old->fd || ::fstat(old->fd.get(), &old->status) != 0) return nullptr;
  if (old->size() < block_bytes_for(shape_.slot_bytes) || file.size == 0) return nullptr;
  old->file = io::choose_source(old->fd.get(), old->size(), settings.cache);
  return old;
}

// What a question is about, checked against it. Null: the run is over, or the file has failed.
TargetFileRef TargetWorker::find_for_span(const net::Frame& frame, const Probe& probe) {
  const TargetFileRef file = target_.files_.find(frame.file_id);
  if (file == nullptr) {
    protocol_error("a question about a file that is not open");
    return nullptr;
  }
  // Sums are checked before they are used: neither side of these comparisons can overflow.
  const bool inside =
      file->size != kUnknownSize && frame.offset <= file->size && probe.length() <= file->size - frame.offset;
  const bool aligned = frame.offset % io::kPageBytes == 0 && probe.block_bytes() % io::kPageBytes == 0;
  if (!inside || !aligned || probe.block_bytes() > shape_.slot_bytes - kProbeBytesMax) {
    protocol_error("a question outside its file");
    return nullptr;
  }
  return file->has_failed() ? nullptr : file;
}

// Compares the old file's blocks with the digests of the new one's, and takes over those that are equal. To
// its end also where the stream is lost meanwhile: what is taken over is in the account, and will be asked
// again.
io::Step<AckStatus> TargetWorker::probe(const net::Frame& frame, std::span<std::byte> slot,
                                        net::Verdicts& verdicts) {
  const auto probe = Probe::parse(slot.first(frame.length));
  if (!probe) {
    fail(probe.error());
    co_return AckStatus::refused;
  }
  const TargetFileRef file = find_for_span(frame, *probe);
  if (file == nullptr) co_return AckStatus::refused;
  if (file->old == nullptr) {
    protocol_error("a probe of a file that has no old one");
    co_return AckStatus::refused;
  }
  OldFile& old = *file->old;
  const std::span<std::byte> room = room_of(slot);
  const std::size_t at_once = old.file.resident ? 1 : room.size() / probe->block_bytes();
  for (std::size_t first = 0; first < probe->count() && !giving_up(); first += at_once) {
    const std::size_t behind = std::min(first + at_once, probe->count());
    const std::uint64_t begin = probe->block(first).offset;
    const io::Extent last = probe->block(behind - 1);
    const std::size_t wanted = last.offset + last.length - begin;
    const io::IoResult read = co_await ring_->read(
        old.file, room.first(old.file.direct ? io::round_up(wanted, io::kPageBytes) : wanted),
        frame.offset + begin);
    // What cannot be read, or is not there, is sent.
    const std::size_t got = std::min(read.bytes, wanted);
    compare(*probe, first, room.first(got), verdicts);
    for (std::size_t i = first; i < behind;) {
      std::size_t end = i;
      while (end < behind && verdicts.at(end) == kPresent) ++end;
      if (end == i) {
        ++i;
        continue;
      }
      const io::Extent from = probe->block(i);
      const io::Extent to = probe->block(end - 1);
      const io::Extent run{frame.offset + from.offset, to.offset + to.length - from.offset};
      if (!file->stays && !clone_range(old, file->fd(), run)) {
        io::RingFile place = file->file;
        const RegisteredFiles::Use use = files_->find(file->id, place);
        std::byte* bytes = room.data() + (from.offset - begin);
        std::size_t length = run.length;
        if (place.direct) {
          length = io::round_up(length, io::kPageBytes);
          std::memset(bytes + run.length, 0, length - run.length);
        }
        const io::IoResult written = co_await ring_->write(place, std::span(bytes, length), run.offset);
        if (failed_to_write(*file, written, length)) co_return AckStatus::refused;
      }
      for (; i < end; ++i) {
        const auto [offset, length] = probe->block(i);
        file->add(frame.offset + offset, length, probe->digest(i));
        if (Journal* journal = file->journal()) journal->add(frame.offset + offset, length, probe->digest(i));
        target_.bytes_ += length;
      }
    }
  }
  co_return giving_up() ? AckStatus::refused : AckStatus::done;
}

void TargetWorker::compare(const Probe& probe, std::size_t first, std::span<const std::byte> bytes,
                           net::Verdicts& verdicts) {
  const Stopwatch watch(times_.digest_ns);
  const std::uint64_t begin = probe.block(first).offset;
  for (std::size_t i = first; i < probe.count(); ++i) {
    const auto [offset, length] = probe.block(i);
    if (offset - begin + length > bytes.size()) break;
    if (io::digest_of(bytes.subspan(offset - begin, length)) == probe.digest(i)) verdicts.set(i, kPresent);
  }
}

}  // namespace rdcp::tree
