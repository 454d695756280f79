// How a source fills a slot: packs, opens, reads. source_close.cpp has how it ends a large file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tree/source/source_worker.h"
#include "tree/source/stability.h"

namespace rdcp::tree {

using net::FrameKind;

namespace {

// Another file, size or time gives another one; the ctime moves even where a writer sets the mtime back.
io::Digest token_of(const struct stat& status) {
  const std::array<std::int64_t, 6> facts{static_cast<std::int64_t>(status.st_ino),
                                          status.st_size,
                                          status.st_mtim.tv_sec,
                                          status.st_mtim.tv_nsec,
                                          status.st_ctim.tv_sec,
                                          status.st_ctim.tv_nsec};
  return io::digest_of(std::as_bytes(std::span(facts)));
}

}  // namespace

// Everything but an extent that is read.
SourceWorker::Chunk SourceWorker::prepare(Work& work, std::span<std::byte> slot) {
  const Stopwatch watch(times_.read_busy_ns);
  switch (work.kind) {
    case Work::Kind::batch:
      return work.batch.to_compare() ? ask(work, slot) : pack_batch(work, slot);
    case Work::Kind::open:
      return open_file(work.file, slot);
    case Work::Kind::span:
      return ask(work);
    case Work::Kind::extent:
      return by_kernel(work);
    case Work::Kind::commit:
      return close_file(work, slot);
    case Work::Kind::abandon:
      return give_up(work);
    case Work::Kind::names:
      return list_names(work, slot);
    case Work::Kind::lost:
      break;
  }
  net::Frame lost;
  lost.kind = FrameKind::lost;
  lost.offset = work.stream;
  return Chunk(lost);
}

SourceWorker::Chunk SourceWorker::with_digest(net::Frame frame, std::span<std::byte> slot,
                                              std::size_t length) {
  const Stopwatch watch(times_.digest_ns);
  frame.length = static_cast<std::uint32_t>(length);
  frame.digest = io::digest_of(slot.first(length));
  return Chunk(frame, length);
}

SourceWorker::Chunk SourceWorker::ask(Work& work, std::span<std::byte> slot) {
  const std::size_t length = asker_.ask(work.batch, slot);
  if (length == 0) return Chunk(Chunk::State::nothing);
  return page(FrameKind::compare, work.batch.serial, slot, length);
}

SourceWorker::Chunk SourceWorker::page(FrameKind kind, std::uint64_t serial, std::span<std::byte> slot,
                                       std::size_t length) {
  net::Frame frame;
  frame.kind = kind;
  frame.file_id = serial;
  frame.offset = source_.plan_.first_serial();
  return with_digest(frame, slot, length);
}

// First the sums of all, then the names of those that the target has others of.
SourceWorker::Chunk SourceWorker::list_names(Work& work, std::span<std::byte> slot) {
  NamesBatch& names = work.names;
  std::size_t length = 0;
  if (names.compared < names.sums.size()) {
    NamesWriter writer;
    writer.begin_sums(slot);
    names.asked_until = names.compared;
    while (names.asked_until < names.sums.size() && writer.add(names.sums[names.asked_until])) {
      ++names.asked_until;
    }
    if (names.asked_until > names.compared) length = writer.finish();
  } else {
    length = source_.names_walk_->write_names(names, slot);
  }
  if (length == 0) return Chunk(Chunk::State::nothing);
  return page(FrameKind::names, names.serial, slot, length);
}

SourceWorker::Chunk SourceWorker::pack_batch(Work& work, std::span<std::byte> slot) {
  const std::size_t length = packer_.pack(work.batch, slot);
  if (length == 0) return Chunk(Chunk::State::nothing);
  net::Frame frame;
  frame.kind = FrameKind::archive;
  Chunk chunk = with_digest(frame, slot, length);
  chunk.packed = packer_.packed();
  return chunk;
}

// How to read what was open already. Where extents do not begin at a page, O_DIRECT does not take them.
io::RingFile SourceWorker::choose_opened(const Root& root, const OpenedFile& opened) const {
  if (!root.begin) return io::RingFile{.fd = opened.fd.get()};
  const bool aligned = opened.begin % io::kPageBytes == 0;
  return io::choose_source(opened.fd.get(), opened.begin + opened.size,
                           aligned ? source_.job_.settings.cache : io::CacheMode::keep);
}

// A SRC that was open already: a pipe, a device, standard input.
void SourceWorker::plan_given(const FileTransfer& transfer, OpenedFile& opened) const {
  opened.status.st_mode = S_IFREG | source_.new_mode_;
  opened.file = choose_opened(transfer.item().root(), opened);
  opened.file.live = transfer.is_byte_stream() && source_.as_it_comes_;
  ::clock_gettime(CLOCK_REALTIME, &opened.status.st_mtim);
}

// How a file that was looked up is read, and what the target has to know of it. False: not at all, which has
// been reported.
bool SourceWorker::plan_regular(const FileTransfer& transfer, OpenedFile& opened, net::Frame& frame) {
  const std::string subject = transfer.item().subject();
  if (!S_ISREG(opened.status.st_mode)) {
    source_.reporter_.problem(io::plain_error(io::ErrorKind::file, "copy", subject, "is no longer a file"));
    return false;
  }
  if (static_cast<std::uint64_t>(opened.status.st_size) >= kUnknownSize) {
    source_.reporter_.problem(io::errno_error("copy", subject, EFBIG));
    return false;
  }
  if (transfer.is_byte_stream()) {
    opened.file = {.fd = opened.fd.get()};
    return true;
  }
  opened.size = static_cast<std::uint64_t>(opened.status.st_size);
  const bool sends_holes = source_.sends_holes_ || transfer.sends_holes();
  opened.sparse = !sends_holes && opened.status.st_blocks * 512 < opened.status.st_size;
  opened.file = io::choose_source(opened.fd.get(), opened.size, source_.job_.settings.cache);
  // What the kernel copies has no digest to be verified by.
  opened.by_kernel = source_.job_.streams.connect == Connect::in_process && !source_.job_.settings.verify;
  if (opened.sparse) frame.flags = net::kFlagSparse;
  frame.extra = token_of(opened.status);
  return true;
}

SourceWorker::Chunk SourceWorker::open_file(const FileTransferRef& file, std::span<std::byte> slot) {
  const Chunk failed(Chunk::State::failed);
  const Item& item = file->item();
  {
    std::lock_guard lock(source_.mutex_);
    source_.current_path_ = item.subject();
  }
  OpenedFile opened = file->take_opened();
  if (!opened.fd) {
    opened.fd =
        open_beneath(item.root().fd.get(), item.local_path(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  }
  if (!opened.fd || ::fstat(opened.fd.get(), &opened.seen) != 0) {
    source_.reporter_.problem(io::errno_error("open", item.subject()));
    return failed;
  }
  opened.status = opened.seen;
  if (S_ISREG(opened.seen.st_mode)) wait_for_next_tick(opened.seen);
  net::Frame frame;
  frame.kind = FrameKind::open;
  frame.file_id = file->id();
  if (item.root().opened) {
    plan_given(*file, opened);
  } else if (!plan_regular(*file, opened, frame)) {
    return failed;
  }
  if (source_.read_beside_) opened.file.beside = std::exchange(opened.file.resident, false);
  const bool regular = !item.root().opened && !file->is_byte_stream();
  const bool unknown =
      !file->was_compared() && CompareRequester::is_compared_open(item.status, source_.digest_max());
  const bool compares = source_.job_.settings.checksum && regular && unknown;
  if (compares) frame.flags |= net::kFlagCompare;
  frame.offset = file->is_byte_stream() ? kUnknownSize : opened.size;
  file->set_opened(std::move(opened), compares);
  const std::size_t length = packer_.pack_header(*file, slot);
  return length == 0 ? failed : with_digest(frame, slot, length);
}

SourceWorker::Chunk SourceWorker::by_kernel(const Work& work) {
  net::Frame frame = bare_frame(FrameKind::copy_range, work.file->id());
  frame.offset = work.extent.offset;
  const std::int64_t fd = work.file->opened().fd.get();
  const std::uint64_t length = work.extent.length;
  std::memcpy(frame.extra.bytes.data(), &fd, sizeof fd);
  std::memcpy(frame.extra.bytes.data() + sizeof fd, &length, sizeof length);
  Chunk chunk(frame);
  chunk.moves = length;
  return chunk;
}

// A chunk out of what was read. Less than asked for means that the file has become shorter; that is told at
// the end.
SourceWorker::Chunk SourceWorker::take_extent(Work& work, std::span<std::byte> slot,
                                              const io::IoResult& read) {
  FileTransfer& file = *work.file;
  const std::size_t bytes = std::min<std::size_t>(read.bytes, work.extent.length);
  if (file.is_byte_stream()) {
    work.extent.offset = file.length();
    source_.plan_.stream_read(file, bytes, read.at_end || read.error != 0);
  }
  if (read.error != 0) {
    source_.reporter_.problem(io::errno_error("read", file.item().subject(), read.error));
    return Chunk(Chunk::State::failed);
  }
  if (bytes < work.extent.length && !file.is_byte_stream())
    source_.plan_.ended_early(file, work.extent.offset + bytes);
  if (bytes == 0) return Chunk(Chunk::State::nothing);
  work.extent.length = bytes;
  net::Frame frame = bare_frame(FrameKind::data, file.id());
  frame.offset = work.extent.offset;
  return with_digest(frame, slot, bytes);
}

}  // namespace rdcp::tree
