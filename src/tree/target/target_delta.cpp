// Large files of which the target has something already: what it has is compared, and taken over.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "tree/pages/probe.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;

namespace {

constexpr auto kPresent = static_cast<std::uint8_t>(PieceVerdict::present);
constexpr auto kMoved = static_cast<std::uint8_t>(PieceVerdict::moved);

// The filesystem shares the extent between both files. What it does not take is written instead.
bool clone_range(BasisFile& old, int to, const io::Extent& extent) {
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
std::unique_ptr<BasisFile> TargetWorker::find_old(const TargetFile& file, const Entry& entry) {
  const CopySettings& settings = target_.job_.settings;
  const std::uint64_t least = block_bytes_for(shape_.slot_bytes);
  const bool of_use = settings.delta && target_.job_.streams.connect != Connect::in_process &&
                      file.size != kUnknownSize && file.size > 0 && least > 0;
  if (!of_use) return nullptr;
  auto old = std::make_unique<BasisFile>();
  old->fd = tree_->open_old(file.path, O_RDONLY);
  old->is_other = !old->fd;
  if (!old->fd) old->fd = find_like(file, entry);
  if (!old->fd || ::fstat(old->fd.get(), &old->status) != 0 || old->size() < least) return nullptr;
  old->may_have_moved = !old->is_other && !file.stays && old->size() != file.size;
  old->file = io::choose_source(old->fd.get(), old->size(), settings.cache);
  return old;
}

// A file that may be the missing one under another name.
io::Fd TargetWorker::find_like(const TargetFile& file, const Entry& entry) {
  const bool of_use = target_.kind_ == PathKind::directory && !target_.job_.settings.inplace;
  if (!of_use || file.size < BasisCandidates::kBytesMin) return {};
  const auto path = target_.like_files_.find(target_.root_.get(), file.path, file.size, entry.mtime);
  return path ? tree_->open_old(*path, O_RDONLY) : io::Fd();
}

// A file that is compared needs one of its size; nothing is made. One with other names is no use if its
// metadata are to change: those names may be files of their own at the source, or not be of this copy at all.
AckStatus TargetWorker::open_to_compare(TargetFile& file, const Entry& entry) {
  auto old = std::make_unique<BasisFile>();
  if (tree_ != nullptr) old->fd = tree_->open_old(file.path, O_RDONLY);
  const bool fits = old->fd && ::fstat(old->fd.get(), &old->status) == 0 && old->size() == file.size;
  if (!fits || block_bytes_for(shape_.slot_bytes) == 0) return AckStatus::unsupported;
  if (old->status.st_nlink > 1 && (comparer_ == nullptr || !comparer_->has_metadata_of(entry))) {
    return AckStatus::unsupported;
  }
  old->file = io::choose_source(old->fd.get(), old->size(), target_.job_.settings.cache);
  file.old = std::move(old);
  file.compares = true;
  file.stays = true;
  return AckStatus::has_basis;
}

// It was compared, and is equal: its metadata may not be.
io::Result<void> TargetWorker::keep_equal(const TargetFile& file, const Entry& entry, std::uint64_t size) {
  if (size != file.size || file.old->has_changed()) {
    return io::plain_error(ErrorKind::file, "compare", file.subject, "the file was changed meanwhile");
  }
  target_.bytes_ += size;
  return apply_metadata(file.old->fd.get(), entry, ~0u, target_.policy_, target_.names_, target_.losses_,
                        file.subject);
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
  const bool blocks = probe.form() == Probe::Form::blocks;
  const bool aligned = frame.offset % io::kPageBytes == 0 && probe.size() % io::kPageBytes == 0;
  const std::uint64_t least = block_bytes_for(shape_.slot_bytes);
  if (!inside || least == 0 || (blocks && (probe.size() > least || !aligned))) {
    protocol_error("a question outside its file");
    return nullptr;
  }
  return file->has_failed() ? nullptr : file;
}

io::Step<AckStatus> TargetWorker::probe(const net::Frame& frame, std::span<const std::byte> payload,
                                        std::span<std::byte> room, net::Verdicts& verdicts) {
  const auto probe = Probe::parse(payload);
  if (!probe) {
    fail(probe.error());
    co_return AckStatus::refused;
  }
  const TargetFileRef file = find_for_span(frame, *probe);
  if (file == nullptr) co_return AckStatus::refused;
  const bool chunks = probe->form() == Probe::Form::chunks;
  if (file->old == nullptr || (chunks && (file->stays || file->old->is_other))) {
    protocol_error("a probe of a file that has no old one");
    co_return AckStatus::refused;
  }
  AckStatus status = AckStatus::refused;
  if (chunks) {
    status = co_await probe_chunks(frame, *probe, file, room, verdicts);
  } else {
    status = co_await probe_blocks(frame, *probe, file, room, verdicts);
  }
  co_return status;
}

// Compares the old file's blocks with the digests of the new one's, and takes over those that are equal. To
// its end also where the stream is lost meanwhile: what is taken over is in the account, and will be asked
// again.
io::Step<AckStatus> TargetWorker::probe_blocks(const net::Frame& frame, const Probe& probe,
                                               TargetFileRef file, std::span<std::byte> room,
                                               net::Verdicts& verdicts) {
  BasisFile& old = *file->old;
  // What is written has to be read back; what stays where it is does not, if it has just come from the disk.
  const bool reads_back = read_back_ != nullptr && !file->compares && !(file->stays && old.file.direct);
  const std::size_t at_once = bytes_at_once(room.size(), old.file.resident, probe.size()) / probe.size();
  for (std::size_t first = 0; first < probe.count() && !giving_up(); first += at_once) {
    const std::size_t behind = std::min(first + at_once, probe.count());
    const std::uint64_t begin = probe.block(first).offset;
    const io::Extent last = probe.block(behind - 1);
    const std::size_t wanted = last.offset + last.length - begin;
    const AlignedRead from(old.file, frame.offset + begin, wanted);
    const io::IoResult read = co_await ring_->read(old.file, room.first(from.bytes), from.offset);
    // What cannot be read, or is not there, is sent.
    const std::span<std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    compare(probe, *file, first, bytes, verdicts);
    const ProbedBlocks blocks{probe, verdicts, frame.offset, first, behind};
    if (!file->stays) {
      const bool written = co_await take_over(*file, blocks, bytes);
      if (!written) co_return AckStatus::refused;
    }
    if (reads_back) co_await read_back_blocks(*file, blocks, room);
    for (std::size_t i = first; i < behind; ++i) {
      if (verdicts.at(i) != kPresent) continue;
      const auto [offset, length] = probe.block(i);
      file->add(frame.offset + offset, length, probe.digest(i));
      if (Journal* journal = file->journal()) journal->add(frame.offset + offset, length, probe.digest(i));
      if (!file->compares) target_.bytes_ += length;
    }
  }
  co_return giving_up() ? AckStatus::refused : AckStatus::done;
}

// Those of the blocks that are equal, side by side at once: shared with the old file, or written. bytes: the
// old file's, from the first of the blocks on. False: they cannot be written, which has been told.
io::Step<bool> TargetWorker::take_over(TargetFile& file, const ProbedBlocks& blocks,
                                       std::span<std::byte> bytes) {
  const std::uint64_t begin = blocks.probe.block(blocks.first).offset;
  for (std::size_t i = blocks.first; i < blocks.behind; ++i) {
    std::size_t end = i;
    while (end < blocks.behind && blocks.verdicts.at(end) == kPresent) ++end;
    if (end == i) continue;
    const io::Extent run_begin = blocks.probe.block(i);
    const io::Extent run_last = blocks.probe.block(end - 1);
    const io::Extent run{blocks.offset + run_begin.offset,
                         run_last.offset + run_last.length - run_begin.offset};
    i = end;
    if (clone_range(*file.old, file.fd(), run)) continue;
    io::RingFile place = file.place();
    const RegisteredFiles::Use use = files_->find(file.id, place);
    std::byte* at = bytes.data() + (run_begin.offset - begin);
    std::size_t length = run.length;
    if (place.direct) {
      length = io::round_up(length, io::kPageBytes);
      std::memset(at + run.length, 0, length - run.length);
    }
    const io::IoResult written = co_await ring_->write(place, std::span(at, length), run.offset);
    if (failed_to_write(file, written, length)) co_return false;
  }
  co_return true;
}

// bytes: from the first block on, as far as the old file has them.
void TargetWorker::compare(const Probe& probe, const TargetFile& file, std::size_t first,
                           std::span<const std::byte> bytes, net::Verdicts& verdicts) {
  const Stopwatch watch(times_.digest_ns);
  const std::uint64_t begin = probe.block(first).offset;
  for (std::size_t i = first; i < probe.count() && probe.block(i).offset - begin < bytes.size(); ++i) {
    const auto [at, length] = probe.block(i);
    const std::span<const std::byte> block = bytes.subspan(at - begin);
    if (block.size() >= length && io::digest_of(block.first(length)) == probe.digest(i)) {
      verdicts.set(i, kPresent);
    } else if (file.old->may_have_moved) {
      verdicts.set(i, kMoved);
    }
  }
}

}  // namespace rdcp::tree
