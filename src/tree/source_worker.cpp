#include "tree/source_worker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstring>

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

SourceWorker::SourceWorker(Source& source, std::size_t index)
    : source_(source),
      index_(index),
      depth_(source.shape_.target_slots),
      packer_(source.plan_, source.small_file_max_, source.policy_, source.names_, source.reporter_) {}

// Ends the run, with this as its cause unless there is one: no more work is handed out. The streams are ended
// in order, so that the target does not take a cut connection for the cause.
void SourceWorker::fail(const io::Error& error) {
  source_.reporter_.fatal(error);
  source_.plan_.stop();
}

void SourceWorker::lose_stream(const io::Error& error) {
  stream_lost_ = true;
  fail(error);
}

bool SourceWorker::run(const StreamMaker& make_stream) {
  auto ring = io::make_ring(source_.job_.settings.ring, depth_ + 8);
  auto arena = io::Arena::create(depth_, source_.shape_.slot_bytes);
  if (!ring || !arena) {
    fail(ring ? arena.error() : ring.error());
    return false;
  }
  ring_ = std::move(*ring);
  source_.plan_.subscribe(ring_.get());
  // The device before the ring, which can do without where little memory may be locked.
  stream_ = make_stream(*ring_, *arena);
  ring_->register_arena(arena->all());
  files_ = std::make_unique<RegisteredFiles>(*ring_);
  idle_ = std::make_unique<io::WaitList>(*ring_);
  stream_->start();
  std::vector<io::Task> tasks;
  for (std::uint32_t i = 0; i < depth_; ++i) tasks.push_back(slot_loop(arena->slot(i)));
  running_slots_ = depth_;
  for (io::Task& task : tasks) task.start();

  std::uint64_t seen = source_.plan_.changes();
  const auto driven = drive(*ring_, *stream_, tasks, [&] {
    const std::uint64_t changes = source_.plan_.changes();
    if (changes != seen || source_.plan_.stopped()) idle_->wake_all();
    seen = changes;
    if (source_.stopped()) {
      stream_->shut(io::plain_error(io::ErrorKind::interrupted, "copy", "", "stopped"));
    }
  });
  if (!driven) lose_stream(driven.error());
  source_.plan_.unsubscribe(ring_.get());
  const net::StreamTimes& waited = stream_->counters().times;
  const std::lock_guard lock(source_.mutex_);
  StageTimes& sum = source_.done_.times;
  sum.read_busy_ns += times_.read_busy_ns;
  sum.read_wait_ns += times_.read_wait_ns;
  sum.digest_ns += times_.digest_ns;
  sum.idle_ns += times_.idle_ns;
  sum.away_ns += waited.credit_ns + waited.send_ns + times_.away_ns;
  source_.done_.ring = ring_->description();
  source_.done_.streams[index_] = stream_->description();
  // The ring goes before the tasks and the arena, which the kernel may still know of if it broke.
  files_.reset();
  stream_.reset();
  ring_.reset();
  return !stream_lost_;
}

// The life of a chunk at the source: take work, fill the slot, wait for a slot at the target, send, hear what
// became of it. A batch may take several rounds, and a file's last extent is followed by its commit.
io::Task SourceWorker::slot_loop(std::span<std::byte> slot) {
  Work work;
  bool again = false;
  while (!stream_lost_) {
    if (!again) {
      const Plan::Next next = source_.plan_.take(work, this);
      if (next == Plan::Next::none) break;
      if (next == Plan::Next::wait) {
        // Idle at the end of the walk only means that there is less work than workers.
        std::uint64_t not_counted = 0;
        const Stopwatch watch(source_.plan_.totals().complete ? not_counted : times_.idle_ns);
        co_await idle_->wait();
        continue;
      }
    }
    Chunk chunk;
    AckStatus status = AckStatus::bad_digest;
    const std::size_t batch_begin = work.batch.next;
    for (int tries = 0; tries < Source::kSendTries && status == AckStatus::bad_digest; ++tries) {
      // A damaged extent is read anew; what was packed, or came out of a pipe, is sent again as it was, with
      // the digest it had.
      const bool reads = work.kind == Work::Kind::extent && !work.file->by_kernel;
      if (reads && (tries == 0 || !work.file->byte_stream)) {
        const io::Clock::time_point before = io::Clock::now();
        io::RingFile file = work.file->file;
        const RegisteredFiles::Use use = files_->find(work.file->id, file);
        const std::size_t wanted =
            file.direct ? io::round_up(work.extent.length, io::kPageBytes) : work.extent.length;
        const io::IoResult read = co_await ring_->read(
            file, slot.first(wanted), work.file->byte_stream ? io::kNoOffset : work.extent.offset);
        std::uint64_t& spent = file.resident ? times_.read_busy_ns : times_.read_wait_ns;
        spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
        chunk = take_extent(work, slot, read);
      } else if (tries == 0) {
        chunk = prepare(work, slot);
      }
      if (chunk.state != Chunk::State::ready) {
        status = AckStatus::refused;
        break;
      }
      const auto turn = source_.pacer_.reserve(chunk.length);
      co_await ring_->sleep_until(turn);
      const auto credit = co_await stream_->credit();
      if (!credit) {
        lose_stream(credit.error());
        break;
      }
      chunk.frame.slot = *credit;
      const auto sent = co_await stream_->send(chunk.frame, slot.first(chunk.length));
      if (!sent) {
        lose_stream(sent.error());
        break;
      }
      const io::Clock::time_point sent_at = io::Clock::now();
      const auto answer = co_await stream_->acknowledged(*credit);
      times_.away_ns += static_cast<std::uint64_t>((io::Clock::now() - sent_at).count());
      if (!answer) {
        lose_stream(answer.error());
        break;
      }
      status = *answer;
      if (status == AckStatus::bad_digest) ++source_.counters_.resent_chunks;
    }
    if (stream_lost_) break;
    again = settle(work, chunk, status, batch_begin);
  }
  if (--running_slots_ == 0 && !stream_lost_) {
    net::Frame end;
    end.kind = FrameKind::end;
    const auto sent = co_await stream_->send(end, {});
    if (!sent) lose_stream(sent.error());
  }
}

// Everything but an extent that is read.
SourceWorker::Chunk SourceWorker::prepare(Work& work, std::span<std::byte> slot) {
  const Stopwatch watch(times_.read_busy_ns);
  switch (work.kind) {
    case Work::Kind::batch:
      return pack_batch(work, slot);
    case Work::Kind::open:
      return open_file(work.file, slot);
    case Work::Kind::extent:
      return by_kernel(work);
    case Work::Kind::commit:
      return close_file(work, slot);
    case Work::Kind::abandon:
      break;
  }
  return Chunk(bare_frame(FrameKind::abandon, work.file->id));
}

SourceWorker::Chunk SourceWorker::with_digest(net::Frame frame, std::span<std::byte> slot,
                                              std::size_t length) {
  const Stopwatch watch(times_.digest_ns);
  frame.length = static_cast<std::uint32_t>(length);
  frame.digest = io::digest_of(slot.first(length));
  return Chunk(frame, length);
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
  file->id = source_.next_file_id_++;
  net::Frame frame;
  frame.kind = FrameKind::open;
  frame.file_id = file->id;
  if (file->item.directory->root->opened) {
    file->status.st_mode = S_IFREG | 0666;  // of a pipe or device: what a new file would get
    file->file.fd = file->fd.get();
    ::clock_gettime(CLOCK_REALTIME, &file->status.st_mtim);
    if (!file->byte_stream)
      file->extents = std::make_unique<io::DataExtents>(file->fd.get(), file->size, false);
  } else {
    if (!S_ISREG(file->status.st_mode)) {
      source_.reporter_.problem(io::plain_error(io::ErrorKind::file, "copy", subject, "is no longer a file"));
      return failed;
    }
    file->size = static_cast<std::uint64_t>(file->status.st_size);
    const bool sparse = file->status.st_blocks * 512 < file->status.st_size;
    file->file = io::choose_source(file->fd.get(), file->size, source_.job_.settings.cache);
    file->extents = std::make_unique<io::DataExtents>(file->fd.get(), file->size, sparse);
    file->by_kernel = source_.job_.streams.connect == Connect::in_process;
    if (sparse) frame.flags = net::kFlagSparse;
  }
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
  return Chunk(frame);
}

// A chunk out of what was read. Less than asked for means that the file has become shorter; that is told at
// the end.
SourceWorker::Chunk SourceWorker::take_extent(Work& work, std::span<std::byte> slot,
                                              const io::IoResult& read) {
  LargeFile& file = *work.file;
  const std::size_t bytes = std::min<std::size_t>(read.bytes, work.extent.length);
  if (file.byte_stream) {
    work.extent.offset = file.sent_bytes;
    source_.plan_.stream_read(file, bytes, bytes < work.extent.length || read.error != 0);
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
  if (!file.item.directory->root->opened && ::fstat(file.fd.get(), &now) == 0) {
    const bool changed = now.st_size != file.status.st_size ||
                         now.st_mtim.tv_sec != file.status.st_mtim.tv_sec ||
                         now.st_mtim.tv_nsec != file.status.st_mtim.tv_nsec;
    if (changed || file.end != file.size) {
      source_.reporter_.problem(
          io::plain_error(io::ErrorKind::file, "copy", file.item.subject(),
                          "the file changed while it was read; the copy may mix old and new"));
    }
    file.status = now;
  }
  const std::size_t length = packer_.pack_header(file, slot);
  if (length > 0) return with_digest(frame, slot, length);
  // Its metadata no longer fit: give it up rather than publish half of it.
  work.kind = Work::Kind::abandon;
  return Chunk(bare_frame(FrameKind::abandon, file.id));
}

bool SourceWorker::settle(Work& work, const Chunk& chunk, AckStatus status, std::size_t batch_begin) {
  if (status == AckStatus::bad_digest) {
    const std::string subject =
        work.kind == Work::Kind::batch ? work.batch.items[batch_begin].subject() : work.file->item.subject();
    fail(io::plain_error(io::ErrorKind::digest, "copy", subject,
                         "a chunk arrived damaged each time it was sent; giving up"));
    return false;
  }
  switch (work.kind) {
    case Work::Kind::batch:
      return settle_batch(work, status == AckStatus::done ? chunk.packed : Packer::Packed(), batch_begin);
    case Work::Kind::open:
      settle_open(work, status);
      return false;
    case Work::Kind::extent:
      return settle_extent(work, chunk, status);
    case Work::Kind::commit:
    case Work::Kind::abandon:
      settle_close(work, status);
      return false;
  }
  return false;
}

bool SourceWorker::settle_batch(Work& work, const Packer::Packed& packed, std::size_t begin) {
  source_.counters_.files += packed.files;
  source_.counters_.directories += packed.directories;
  source_.counters_.others += packed.others;
  source_.counters_.bytes += packed.content_bytes;
  const bool last = work.batch.next == work.batch.items.size();
  source_.plan_.settle_batch(work.batch.items, begin, work.batch.next, last);
  if (last) work.batch = {};
  return !last;
}

void SourceWorker::settle_open(Work& work, AckStatus status) {
  const bool usable = status == AckStatus::done || status == AckStatus::in_turn;
  if (!usable) work.file->fd.reset();
  source_.plan_.opened(work.file, usable, status == AckStatus::in_turn);
  work.file.reset();
}

bool SourceWorker::settle_extent(Work& work, const Chunk& chunk, AckStatus status) {
  if (status == AckStatus::unsupported) {
    source_.plan_.return_extent(work);
    work.file.reset();
    return false;
  }
  const bool failed = chunk.state == Chunk::State::failed ||
                      (chunk.state == Chunk::State::ready && status != AckStatus::done);
  if (chunk.state == Chunk::State::ready && !failed) source_.counters_.bytes += work.extent.length;
  const bool with_digest =
      chunk.state == Chunk::State::ready && chunk.frame.kind == FrameKind::data && !failed;
  if (source_.plan_.settle_extent(work, failed, with_digest ? &chunk.frame : nullptr)) return true;
  work.file.reset();
  return false;
}

void SourceWorker::settle_close(Work& work, AckStatus status) {
  if (work.kind == Work::Kind::commit && status == AckStatus::done) ++source_.counters_.files;
  work.file->fd.reset();
  source_.plan_.settle_file(work.file);
  work.file.reset();
}

}  // namespace rdcp::tree
