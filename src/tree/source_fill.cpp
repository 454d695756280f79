// How a source fills a slot: packs, opens, reads.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tree/source_worker.h"

namespace rdcp::tree {

using net::FrameKind;

namespace {

// Since it was opened.
bool has_changed(const LargeFile& file, const struct stat& now) {
  const timespec& seen = file.item.directory->root->begin ? file.seen_mtime : file.status.st_mtim;
  return static_cast<std::uint64_t>(now.st_size) != file.begin + file.size || file.end != file.size ||
         now.st_mtim.tv_sec != seen.tv_sec || now.st_mtim.tv_nsec != seen.tv_nsec;
}

// Another file, size or mtime gives another one.
io::Digest token_of(const struct stat& status) {
  const std::array<std::int64_t, 4> facts{static_cast<std::int64_t>(status.st_ino), status.st_size,
                                          status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
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
      return Chunk(bare_frame(FrameKind::abandon, work.file->id));
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
io::RingFile SourceWorker::choose_opened(const LargeFile& file) const {
  if (!file.item.directory->root->begin) return io::RingFile{.fd = file.fd.get()};
  const bool aligned = file.begin % io::kPageBytes == 0;
  return io::choose_source(file.fd.get(), file.begin + file.size,
                           aligned ? source_.job_.settings.cache : io::CacheMode::keep);
}

SourceWorker::Chunk SourceWorker::open_file(const LargeFileRef& file, std::span<std::byte> slot) {
  const Chunk failed(Chunk::State::failed);
  const std::string subject = file->item.subject();
  {
    std::lock_guard lock(source_.mutex_);
    source_.current_path_ = subject;
  }
  if (!file->fd) {
    file->fd = open_beneath(file->item.directory->root->fd.get(), file->item.local_path(),
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  }
  if (!file->fd || ::fstat(file->fd.get(), &file->status) != 0) {
    source_.reporter_.problem(io::errno_error("open", subject));
    return failed;
  }
  if (file->id == 0) file->id = source_.next_file_id_++;
  net::Frame frame;
  frame.kind = FrameKind::open;
  frame.file_id = file->id;
  if (file->item.directory->root->opened) {
    file->seen_mtime = file->status.st_mtim;
    file->status.st_mode = S_IFREG | 0666;  // of a pipe or device: what a new file would get
    file->file = choose_opened(*file);
    file->file.live = file->byte_stream && source_.as_it_comes_;
    ::clock_gettime(CLOCK_REALTIME, &file->status.st_mtim);
    if (!file->byte_stream)
      file->extents = std::make_unique<io::DataExtents>(file->fd.get(), file->size, false);
  } else {
    if (!S_ISREG(file->status.st_mode)) {
      source_.reporter_.problem(io::plain_error(io::ErrorKind::file, "copy", subject, "is no longer a file"));
      return failed;
    }
    file->size = static_cast<std::uint64_t>(file->status.st_size);
    // Where a hole comes, an old file that is written in place may have data.
    const bool sends_holes = source_.sends_holes_ || source_.job_.settings.inplace;
    const bool sparse = !sends_holes && file->status.st_blocks * 512 < file->status.st_size;
    file->file = io::choose_source(file->fd.get(), file->size, source_.job_.settings.cache);
    file->extents = std::make_unique<io::DataExtents>(file->fd.get(), file->size, sparse);
    // What the kernel copies has no digest to be verified by.
    file->by_kernel = source_.job_.streams.connect == Connect::in_process && !source_.job_.settings.verify;
    if (sparse) frame.flags = net::kFlagSparse;
    frame.extra = token_of(file->status);
  }
  if (source_.read_beside_) file->file.beside = std::exchange(file->file.resident, false);
  const bool regular = !file->item.directory->root->opened;
  const bool unknown =
      !file->was_compared && Asker::is_compared_open(file->item.status, source_.digest_max());
  if (source_.job_.settings.checksum && regular && unknown) file->compares = true;
  if (file->compares) frame.flags |= net::kFlagCompare;
  file->end = file->size;
  frame.offset = file->byte_stream ? kUnknownSize : file->size;
  const std::size_t length = packer_.pack_header(*file, slot);
  return length == 0 ? failed : with_digest(frame, slot, length);
}

SourceWorker::Chunk SourceWorker::by_kernel(const Work& work) {
  net::Frame frame = bare_frame(FrameKind::copy_range, work.file->id);
  frame.offset = work.extent.offset;
  const std::int64_t fd = work.file->fd.get();
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
  LargeFile& file = *work.file;
  const std::size_t bytes = std::min<std::size_t>(read.bytes, work.extent.length);
  if (file.byte_stream) {
    work.extent.offset = file.sent_bytes;
    source_.plan_.stream_read(file, bytes, read.at_end || read.error != 0);
  }
  if (read.error != 0) {
    source_.reporter_.problem(io::errno_error("read", file.item.subject(), read.error));
    return Chunk(Chunk::State::failed);
  }
  if (bytes < work.extent.length && !file.byte_stream)
    source_.plan_.ended_early(file, work.extent.offset + bytes);
  if (bytes == 0) return Chunk(Chunk::State::nothing);
  work.extent.length = bytes;
  net::Frame frame = bare_frame(FrameKind::data, file.id);
  frame.offset = work.extent.offset;
  return with_digest(frame, slot, bytes);
}

// The file's last word: its metadata as they are now, its real size, its digest.
SourceWorker::Chunk SourceWorker::close_file(Work& work, std::span<std::byte> slot) {
  LargeFile& file = *work.file;
  net::Frame frame = bare_frame(FrameKind::commit, file.id);
  frame.offset = file.byte_stream ? file.sent_bytes : file.end;
  frame.extra = file.digest.value();
  struct stat now {};
  const Root& root = *file.item.directory->root;
  if ((!root.opened || root.begin) && ::fstat(file.fd.get(), &now) == 0) {
    if (has_changed(file, now) && !std::exchange(file.change_told, true)) {
      source_.reporter_.problem(
          io::plain_error(io::ErrorKind::file, "copy", file.item.subject(),
                          "the file changed while it was read; the copy may mix old and new"));
    }
    if (!root.opened) file.status = now;
    // As if it had been read through the descriptor that was given.
    if (root.begin) {
      ::lseek(source_.standard_.input, static_cast<off_t>(file.begin + file.end), SEEK_SET);
    }
  }
  const std::size_t length = packer_.pack_header(file, slot);
  if (length > 0) return with_digest(frame, slot, length);
  // Its metadata no longer fit: give it up rather than publish half of it.
  work.kind = Work::Kind::abandon;
  return Chunk(bare_frame(FrameKind::abandon, file.id));
}

Packer::Packed SourceWorker::sums_of(const LargeFile& file, const io::Digest& content) const {
  SumLine line;
  line.path = file.item.entry_path();
  line.size = file.end;
  line.mtime = file.status.st_mtim.tv_sec;
  line.mtime_ns = static_cast<std::uint32_t>(file.status.st_mtim.tv_nsec);
  line.digest = content;
  line.linked = file.item.status.st_nlink > 1;
  Packer::Packed packed;
  packed.sums.push_back(std::move(line));
  return packed;
}

}  // namespace rdcp::tree
