#include "tree/target/target_worker.h"

#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;
using net::FrameKind;

namespace {

// What one file met, all that follow would meet too.
bool concerns_everything(const io::Error& error) {
  return error.kind == ErrorKind::protocol || error.code == ENOSPC || error.code == EDQUOT ||
         error.code == EROFS || error.code == EPIPE;
}

}  // namespace

TargetWorker::TargetWorker(Target& target, std::size_t index, const net::StreamShape& shape)
    : target_(target),
      index_(index),
      shape_(shape),
      reader_(target.admitted_),
      answered_(shape.target_slots) {
  if (target_.root_) {
    tree_ = std::make_unique<TargetTree>(target_.root_.get(), target_.root_name_, target_.policy_,
                                         target_.names_, target_.losses_);
    const SyncSettings& sync = target_.job_.settings.sync;
    if (sync.enabled) {
      if (sync.mirror) tree_->ask(target_.gate_);
      comparer_ = std::make_unique<Comparer>(target_.root_.get(), target_.root_name_, target_.gate_,
                                             target_.policy_, target_.names_);
      comparer_->going = [this] { return !giving_up(); };
      pruner_ =
          std::make_unique<Pruner>(target_.root_.get(), target_.root_name_, target_.gate_, target_.reporter_);
      pruner_->going = comparer_->going;
    }
    if (target_.job_.settings.fsync) tree_->flush_all();
  }
}

// The connection stays: if it were cut here, the source would take that for the cause.
void TargetWorker::fail(const io::Error& error) {
  target_.reporter_.fatal(error);
  target_.refuse_all();
  turns_->wake_all();
}

// A connection that breaks is dropped, if it is not the last; a peer that breaks the protocol is not trusted
// over another one.
void TargetWorker::lose_stream(const io::Error& error) {
  if (std::exchange(stream_lost_, true)) return;
  if (error.kind != ErrorKind::connection ||
      !target_.streams_.lose(index_, stream_->description(), error, carried_)) {
    fail(error);
  }
}

// Ends the stream when the source has given it up, or has forgotten it; wakes those of the slots that wait
// for what can change.
void TargetWorker::look_around() {
  const std::uint64_t changes = target_.streams_.changes();
  if (changes != seen_changes_) {
    seen_changes_ = changes;
    others_end_ = target_.streams_.any_ended();
    turns_->wake_all();
    if (target_.streams_.given_up(index_)) {
      stream_->shut(
          io::plain_error(ErrorKind::connection, "receive from", "the source", "it lost the connection"));
    }
  }
  if (others_end_ && target_.streams_.overdue()) {
    stream_->shut(io::plain_error(ErrorKind::connection, "receive from", "the source", "no end came"));
  }
  look_for_reader();
  if (target_.stopped()) stream_->shut(io::plain_error(ErrorKind::interrupted, "copy", "", "stopped"));
  if (target_.stopped() || stream_->why_shut()) turns_->wake_all();
}

// A reader that goes away while nothing is written is not met by any write: poll(2) tells of it.
void TargetWorker::look_for_reader() {
  constexpr std::chrono::milliseconds kEvery{500};
  const auto now = io::Clock::now();
  if (!target_.ordered_ || target_.refusing() || now < next_reader_look_) return;
  next_reader_look_ = now + kEvery;
  pollfd reader{target_.in_place_.get(), 0, 0};
  if (::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0) {
    fail(io::errno_error("write", target_.root_name_, EPIPE, ErrorKind::reader_gone));
  }
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

void TargetWorker::run(const StreamMaker& make_stream) {
  auto ring = io::make_ring(target_.job_.settings.ring, shape_.target_slots + 8);
  auto arena = io::Arena::create(shape_.target_slots, shape_.slot_bytes);
  if (!ring || !arena) {
    target_.reporter_.fatal(ring ? arena.error() : ring.error());
    target_.refuse_all();
    target_.streams_.leave(index_);
    return;
  }
  ring_ = std::move(*ring);
  stream_ = make_stream(*ring_, *arena);
  offer_arena(*ring_, *arena, *stream_, target_.streams_.count());
  files_ = std::make_unique<RegisteredFiles>(*ring_);
  turns_ = std::make_unique<io::WaitList>(*ring_);
  if (tree_ != nullptr && target_.job_.settings.verify) {
    read_back_ = std::make_unique<ReadBack>(*ring_);
    if (const auto begun = read_back_->start(); !begun) fail(begun.error());
  }
  target_.streams_.subscribe(index_, ring_.get());
  stream_->start();
  std::vector<io::Task> tasks;
  for (std::uint32_t i = 0; i < shape_.target_slots; ++i) tasks.push_back(slot_loop(*arena));
  for (io::Task& task : tasks) task.start();
  const auto driven = drive(*ring_, *stream_, tasks, [this] { return look_around(), true; });
  if (!driven) fail(driven.error());
  if (driven && !stream_lost_) target_.streams_.end(index_);
  if (stream_lost_) target_.unheard_.keep(answered_);
  target_.streams_.leave(index_);
  std::lock_guard lock(target_.mutex_);
  StageTimes& sum = target_.done_.times;
  sum.digest_ns += times_.digest_ns;
  sum.write_busy_ns += times_.write_busy_ns;
  sum.write_wait_ns += times_.write_wait_ns;
  target_.done_.ring = ring_->description();
  if (!target_.streams_.in_vain(index_)) {
    std::vector<io::Words>& streams = target_.done_.streams;
    if (streams.size() <= index_) streams.resize(index_ + 1);
    streams[index_] = stream_->description();
  }
  // Where the ring broke, work is under way. The stream goes first: a peer in this process may be reading
  // what it sends. Then the ring, before the tasks and the arena, which the kernel may still know of.
  files_->detach();
  stream_.reset();
  ring_.reset();
  read_back_.reset();
  tasks.clear();
}

// The life of a chunk at the target: it lies in its slot; check its digest, write it, give the slot back.
io::Task TargetWorker::slot_loop(io::Arena& arena) {
  std::unique_ptr<CheckedArchive> checked;
  std::vector<std::byte> own;  // see payload_of()
  if (read_back_ != nullptr) checked = std::make_unique<CheckedArchive>(target_.admitted_);
  for (;;) {
    const auto received = co_await stream_->receive();
    if (!received) {
      lose_stream(received.error());
      break;
    }
    if (!*received) break;
    const net::Frame& frame = **received;
    const std::span<std::byte> slot = arena.slot(frame.slot);
    const std::span<const std::byte> payload = payload_of(frame, slot, own);
    answered_[frame.slot].reset();  // has been heard, or the slot would not be used again
    AckStatus status = AckStatus::done;
    if (net::has_payload(frame.kind)) {
      carried_ = true;
      const Stopwatch watch(times_.digest_ns);
      if (io::digest_of(payload) != frame.digest) status = AckStatus::bad_digest;
    }
    if (target_.refusing() || !is_agreed(frame)) status = AckStatus::refused;
    if (status != AckStatus::done) {
      stream_->release(frame.slot, status);
      continue;
    }
    if (const auto known = answer_again(frame)) {
      answer(frame, known->status, known->verdicts);
      continue;
    }
    net::Verdicts verdicts;
    const io::Clock::time_point before = io::Clock::now();
    const bool waits = frame.kind == FrameKind::data || frame.kind == FrameKind::probe;
    std::uint64_t& spent = waits ? times_.write_wait_ns : times_.write_busy_ns;
    switch (frame.kind) {
      case FrameKind::archive:
        if (checked == nullptr) {
          status = unpack(payload);
          break;
        }
        checked->begin(payload);
        while (status == AckStatus::done && write_some(*checked)) {
          while (checked->group.pending > 0) co_await read_back_->wait();
          status = name_written(*checked);
        }
        if (status == AckStatus::done) target_.bytes_ += checked->named_bytes;
        if (target_.refusing()) status = AckStatus::refused;
        break;
      case FrameKind::compare:
        status = compare(frame, payload, verdicts);
        break;
      case FrameKind::names:
        status = prune(frame, payload, verdicts);
        break;
      case FrameKind::open:
        status = open_file(frame, payload);
        break;
      case FrameKind::probe:
        status = co_await probe(frame, payload, room_of(slot), verdicts);
        break;
      case FrameKind::ask:
        status = co_await ask(frame, slot, verdicts);
        break;
      case FrameKind::copy_range:
        status = copy_range(frame);
        break;
      case FrameKind::commit:
        status = commit(frame, payload);
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
        while (file->ordered && file->next_offset != frame.offset && !file->has_failed() && may_wait()) {
          co_await turns_->wait();
        }
        if (file->ordered && file->next_offset != frame.offset) {
          status = AckStatus::refused;
          break;
        }
        io::RingFile place = file->place();
        const RegisteredFiles::Use use = files_->find(file->id, place);
        std::size_t bytes = frame.length;
        if (place.direct) {  // the rest of the last page; cut off at the commit
          bytes = io::round_up(bytes, io::kPageBytes);
          std::memset(slot.data() + frame.length, 0, bytes - frame.length);
        }
        const io::IoResult result =
            co_await ring_->write(place, slot.first(bytes), file->ordered ? io::kNoOffset : frame.offset);
        if (read_back_ != nullptr && result.error == 0 && result.bytes == bytes) {
          const io::RingFile back = read_back_of(*file);
          const std::span<std::byte> again = slot.first(io::round_up(frame.length, io::kPageBytes));
          const io::IoResult read = co_await ring_->read(back, again, frame.offset);
          status = found(*file, frame, read, again);
        }
        if (status == AckStatus::done) status = written(*file, frame, result, bytes);
        break;
      }
      case FrameKind::lost:
        if (!give_up(frame.offset)) {
          status = AckStatus::refused;
          break;
        }
        while (!target_.streams_.has_left(frame.offset) && may_wait()) co_await turns_->wait();
        if (!target_.streams_.has_left(frame.offset)) status = AckStatus::refused;
        break;
      case FrameKind::end:
      case FrameKind::credit:
        break;  // not agreed on in any job
    }
    spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
    answer(frame, status, status == AckStatus::done ? verdicts : net::Verdicts());
  }
}

// False: protocol error, reported.
bool TargetWorker::is_agreed(const net::Frame& frame) {
  const bool again = (frame.flags & net::kFlagAgain) != 0;
  const Terms state = again && target_.streams_.any_given_up() ? kHasLostOne : Terms{};
  const char* fault = fault_of(target_.terms_ | state, frame);
  if (fault != nullptr) protocol_error(fault);
  return fault == nullptr;
}

// An archive's next entry, as long as it is one that was agreed on.
io::Result<bool> TargetWorker::next_entry(ArchiveReader& reader, Entry& entry) const {
  auto more = reader.next(entry);
  const char* fault = more && *more ? fault_of(target_.terms_, entry) : nullptr;
  if (fault != nullptr) return io::plain_error(ErrorKind::protocol, "receive from", "the source", fault);
  return more;
}

// On a stream that is shut nobody hears it, so it is kept for the case that the chunk comes again.
void TargetWorker::answer(const net::Frame& frame, AckStatus status, const net::Verdicts& verdicts) {
  answered_[frame.slot] = CachedReply{frame, status, verdicts};
  stream_->release(frame.slot, status, verdicts);
}

// What is parsed must not change meanwhile. So where the source can still write to the slot, that is done
// with a copy, whose digest is checked, in `own`, which grows to what comes. The bytes of a file are no more
// to us than bytes: who changes them harms his own copy.
std::span<const std::byte> TargetWorker::payload_of(const net::Frame& frame, std::span<const std::byte> slot,
                                                    std::vector<std::byte>& own) const {
  const std::span<const std::byte> payload = slot.first(frame.length);
  if (frame.kind == FrameKind::data || payload.empty() || !stream_->peer_can_write()) return payload;
  own.assign(payload.begin(), payload.end());
  return own;
}

// The source says that a stream is lost. False: protocol error, reported.
bool TargetWorker::give_up(std::uint64_t stream) {
  if (stream != index_ && target_.streams_.give_up(stream)) return true;
  protocol_error("the loss of a stream that cannot be lost");
  return false;
}

}  // namespace rdcp::tree
