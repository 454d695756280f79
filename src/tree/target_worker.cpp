#include "tree/target_worker.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;
using net::FrameKind;

namespace {

// What one file met, all that follow would meet too.
bool concerns_everything(const io::Error& error) {
  return error.kind == ErrorKind::protocol || error.code == ENOSPC || error.code == EDQUOT ||
         error.code == EROFS;
}

}  // namespace

TargetWorker::TargetWorker(Target& target, std::size_t index, const net::StreamShape& shape)
    : target_(target), index_(index), shape_(shape) {
  if (target_.root_) {
    tree_ = std::make_unique<TargetTree>(target_.root_.get(), target_.root_name_, target_.policy_,
                                         target_.names_, target_.losses_);
  }
}

// The connection stays: if it were cut here, the source would take that for the cause.
void TargetWorker::fail(const io::Error& error) {
  target_.reporter_.fatal(error);
  target_.refuse_all();
  turns_->wake_all();
}

void TargetWorker::lose_stream(const io::Error& error) {
  stream_lost_ = true;
  fail(error);
}

void TargetWorker::report(const io::Error& error) {
  if (concerns_everything(error)) {
    fail(error);
  } else {
    target_.reporter_.problem(error);
  }
}

void TargetWorker::protocol_error(std::string_view what) {
  fail(io::plain_error(ErrorKind::protocol, "receive from", "the source", what));
}

bool TargetWorker::run(const StreamMaker& make_stream) {
  auto ring = io::make_ring(target_.job_.settings.ring, shape_.target_slots + 8);
  auto arena = io::Arena::create(shape_.target_slots, shape_.slot_bytes);
  if (!ring || !arena) {
    target_.reporter_.fatal(ring ? arena.error() : ring.error());
    target_.refuse_all();
    return false;
  }
  ring_ = std::move(*ring);
  // The device before the ring, which can do without where little memory may be locked.
  stream_ = make_stream(*ring_, *arena);
  ring_->register_arena(arena->all());
  files_ = std::make_unique<RegisteredFiles>(*ring_);
  turns_ = std::make_unique<io::WaitList>(*ring_);
  stream_->start();
  std::vector<io::Task> tasks;
  for (std::uint32_t i = 0; i < shape_.target_slots; ++i) tasks.push_back(slot_loop(*arena));
  for (io::Task& task : tasks) task.start();
  const auto driven = drive(*ring_, *stream_, tasks, [&] {
    if (!target_.stopped()) return;
    stream_->shut(io::plain_error(ErrorKind::interrupted, "copy", "", "stopped"));
    turns_->wake_all();
  });
  if (!driven) lose_stream(driven.error());
  std::lock_guard lock(target_.mutex_);
  StageTimes& sum = target_.done_.times;
  sum.digest_ns += times_.digest_ns;
  sum.write_busy_ns += times_.write_busy_ns;
  sum.write_wait_ns += times_.write_wait_ns;
  target_.done_.ring = ring_->description();
  target_.done_.streams[index_] = stream_->description();
  // The ring goes before the tasks and the arena, which the kernel may still know of if it broke.
  files_.reset();
  stream_.reset();
  ring_.reset();
  return !stream_lost_;
}

// The life of a chunk at the target: it lies in its slot; check its digest, write it, give the slot back.
io::Task TargetWorker::slot_loop(io::Arena& arena) {
  for (;;) {
    const auto received = co_await stream_->receive();
    if (!received) {
      lose_stream(received.error());
      break;
    }
    if (!*received) break;
    const net::Frame& frame = **received;
    const std::span<std::byte> slot = arena.slot(frame.slot);
    AckStatus status = AckStatus::done;
    if (net::has_payload(frame.kind)) {
      const Stopwatch watch(times_.digest_ns);
      if (io::digest_of(slot.first(frame.length)) != frame.digest) status = AckStatus::bad_digest;
    }
    if (target_.refusing()) status = AckStatus::refused;
    if (status != AckStatus::done) {
      stream_->release(frame.slot, status);
      continue;
    }
    const io::Clock::time_point before = io::Clock::now();
    std::uint64_t& spent = frame.kind == FrameKind::data ? times_.write_wait_ns : times_.write_busy_ns;
    switch (frame.kind) {
      case FrameKind::archive:
        status = unpack(slot.first(frame.length));
        break;
      case FrameKind::open:
        status = open_file(frame, slot.first(frame.length));
        break;
      case FrameKind::copy_range:
        status = copy_range(frame);
        break;
      case FrameKind::commit:
        status = commit(frame, slot.first(frame.length));
        break;
      case FrameKind::abandon:
        target_.files_.take(frame.file_id);
        break;
      case FrameKind::data: {
        const TargetFileRef file = find_for_data(frame);
        if (file == nullptr || file->has_failed()) {
          status = AckStatus::refused;
          break;
        }
        while (file->ordered && file->next_offset != frame.offset && !file->has_failed() && !giving_up()) {
          co_await turns_->wait();
        }
        io::RingFile place = file->file;
        const RegisteredFiles::Use use = files_->find(file->id, place);
        std::size_t bytes = frame.length;
        if (place.direct) {  // the rest of the last page; cut off at the commit
          bytes = io::round_up(bytes, io::kPageBytes);
          std::memset(slot.data() + frame.length, 0, bytes - frame.length);
        }
        const io::IoResult result =
            co_await ring_->write(place, slot.first(bytes), file->ordered ? io::kNoOffset : frame.offset);
        status = written(*file, frame, result, bytes);
        break;
      }
      default:
        protocol_error("a frame that is none of a source's");
        break;
    }
    spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
    stream_->release(frame.slot, status);
  }
}

// A batch of small files. What goes wrong with one of them is told, and the others are put in place.
AckStatus TargetWorker::unpack(std::span<const std::byte> chunk) {
  const auto opened = reader_.open(chunk);
  if (!opened) {
    fail(opened.error());
    return AckStatus::refused;
  }
  for (;;) {
    const auto more = reader_.next(entry_);
    if (!more) fail(more.error());
    if (!more || !*more || giving_up()) break;
    const auto put = put_entry();
    if (!put) {
      report(put.error());
    } else {
      target_.bytes_ += entry_.size;
    }
  }
  return target_.refusing() ? AckStatus::refused : AckStatus::done;
}

io::Result<void> TargetWorker::put_entry() {
  if (target_.in_place_) return write_small_in_place();
  switch (entry_.type) {
    case EntryType::file:
      return tree_->put_file(entry_, reader_);
    case EntryType::directory:
      return tree_->finish_directory(entry_);
    default:
      return tree_->put_special(entry_);
  }
}

// A small file for a device, a FIFO or standard output.
io::Result<void> TargetWorker::write_small_in_place() {
  if (entry_.type != EntryType::file) {
    return io::plain_error(ErrorKind::protocol, "receive from", "the source",
                           "a tree for a target that is one file");
  }
  for (;;) {
    const auto block = reader_.next_block();
    if (!block) return block.error();
    if (!*block) return {};
    std::span<const std::byte> rest = (*block)->bytes;
    while (!rest.empty()) {
      const auto at = static_cast<off_t>((*block)->offset + ((*block)->bytes.size() - rest.size()));
      const int fd = target_.in_place_.get();
      const ssize_t n = target_.ordered_ ? ::write(fd, rest.data(), rest.size())
                                         : ::pwrite(fd, rest.data(), rest.size(), at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return io::errno_error("write", target_.root_name_);
      rest = rest.subspan(static_cast<std::size_t>(n));
    }
  }
}

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

TargetFileRef TargetWorker::find_for_data(const net::Frame& frame) {
  TargetFileRef file = target_.files_.find(frame.file_id);
  if (file == nullptr) {
    protocol_error("bytes for a file that is not open");
    return nullptr;
  }
  // Sums are checked before they are used: neither side of these comparisons can overflow.
  if (frame.offset > file->size || frame.length > file->size - frame.offset ||
      frame.offset % io::kPageBytes != 0) {
    protocol_error("an extent outside its file");
    return nullptr;
  }
  return file;
}

AckStatus TargetWorker::written(TargetFile& file, const net::Frame& frame, const io::IoResult& result,
                                std::size_t wanted) {
  if (result.error != 0 || result.bytes < wanted) {
    if (file.fail()) report(io::errno_error("write", file.subject, result.error != 0 ? result.error : EIO));
    turns_->wake_all();
    return AckStatus::refused;
  }
  file.add(frame);
  file.next_offset += frame.length;
  if (file.ordered) turns_->wake_all();
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
