#include "tree/target/target_worker.h"

#include <poll.h>

#include <cerrno>
#include <utility>

namespace rdcp::tree {

using io::ErrorKind;
using net::AckStatus;
using net::FrameKind;

TargetWorker::TargetWorker(TargetSession& session, std::size_t index, const net::StreamShape& shape,
                           const ChainPlace& chain)
    : context_(session, index, shape), chunks_(context_, chain), answered_(shape.target_slots) {}

void TargetWorker::run(const StreamMaker& make_stream) {
  TargetSession& session = context_.session;
  auto ring = io::make_ring(context_.settings().ring, context_.shape.target_slots + 8);
  auto arena = io::Arena::create(context_.shape.target_slots, context_.shape.slot_bytes);
  if (!ring || !arena) {
    session.fail(ring ? arena.error() : ring.error());
    session.streams.leave(context_.index);
    return;
  }
  context_.ring = std::move(*ring);
  session.tally.pace.slots += context_.shape.target_slots;
  start(make_stream, *arena);
  std::vector<io::Task> tasks;
  for (std::uint32_t i = 0; i < context_.shape.target_slots; ++i) tasks.push_back(slot_loop(*arena));
  for (io::Task& task : tasks) task.start();
  const auto driven = drive(*context_.ring, *context_.stream, tasks, [this] { return look_around(), true; });
  if (!driven) context_.fail(driven.error());
  if (driven && !stream_lost_) {
    if (context_.stream->cut_short()) session.note_cut_short();
    session.streams.end(context_.index);
  }
  if (stream_lost_) session.files.replies.keep(answered_, session.place.ordered);
  session.streams.leave(context_.index);
  session.tally.pace.slots -= context_.shape.target_slots;
  tell_tally();
  if (!driven) chunks_.abandon();
  // Where the ring broke, work is under way. The stream goes first: a peer in this process may be reading
  // what it sends. Then the ring, before the tasks and the arena, which the kernel may still know of.
  context_.files->detach();
  context_.stream.reset();
  context_.ring.reset();
  context_.read_back.reset();
  tasks.clear();
}

// Makes what needs the ring.
void TargetWorker::start(const StreamMaker& make_stream, io::Arena& arena) {
  io::Ring& ring = *context_.ring;
  StreamTable& streams = context_.session.streams;
  context_.stream = make_stream(ring, arena);
  context_.stream->measure_arrivals(context_.session.tally.pace.arriving);
  offer_arena(ring, arena, *context_.stream, streams.count());
  context_.files = std::make_unique<RegisteredFiles>(ring);
  context_.turns = std::make_unique<io::WaitList>(ring);
  chunks_.start();
  if (context_.tree != nullptr && context_.settings().verify) {
    context_.read_back = std::make_unique<ReadBack>(ring);
    if (const auto begun = context_.read_back->start(); !begun) context_.fail(begun.error());
  }
  streams.subscribe(context_.index, &ring);
  context_.stream->start();
}

void TargetWorker::tell_tally() {
  TargetSession& session = context_.session;
  session.tally.add_times(context_.times);
  session.tally.describe_ring(context_.ring->description());
  if (!session.streams.in_vain(context_.index)) {
    session.tally.describe_stream(context_.index, context_.stream->description());
  }
  if (context_.tree == nullptr) return;
  if (context_.tree->has_put()) session.tally.has_put = true;
  if (context_.tree->met_no_locks()) session.tally.lacks_locks = true;
}

// The life of a chunk at the target: it lies in its slot; check it, do what it says, give the slot back.
io::Task TargetWorker::slot_loop(io::Arena& arena) {
  ChunkHandler::Slot slot(chunks_);
  std::vector<std::byte> copy;
  for (;;) {
    const auto received = co_await context_.stream->receive();
    if (!received) lose_stream(received.error());
    if (!received || !*received) break;
    const net::Frame& frame = **received;
    slot.own.memory = arena.slot(frame.slot);
    answered_[frame.slot].reset();  // it was heard, or the slot would not be used again
    const std::span<const std::byte> payload = payload_of(frame, slot.own.memory, copy);
    AckStatus status = check(frame, payload);
    if (status != AckStatus::done) {
      context_.stream->release(frame.slot, status);
      continue;
    }
    if (const auto known = answer_again(frame)) {
      answer(frame, {known->status, known->verdicts});
      continue;
    }
    ChunkAnswer answered;
    if (frame.kind == FrameKind::lost) {
      answered.status = co_await hear_of_loss(frame.offset);
    } else {
      answered = co_await chunks_.handle(frame, payload, slot);
    }
    answer(frame, answered);
  }
}

// Done where the chunk is whole, and the job agreed on frames like it.
AckStatus TargetWorker::check(const net::Frame& frame, std::span<const std::byte> payload) {
  AckStatus status = AckStatus::done;
  if (net::has_payload(frame.kind)) {
    carried_ = true;
    const Stopwatch watch(context_.times.digest_ns);
    if (io::digest_of(payload) != frame.digest) status = AckStatus::bad_digest;
  }
  const bool known = context_.session.refusing() || is_agreed(frame);
  return known ? status : AckStatus::refused;
}

// Returns false after a protocol error, which has been reported.
bool TargetWorker::is_agreed(const net::Frame& frame) {
  const bool again = (frame.flags & net::kFlagAgain) != 0;
  const Terms state = again && context_.session.streams.any_given_up() ? kHasLostOne : Terms{};
  const char* fault = fault_of(context_.session.guards.terms | state, frame);
  if (fault != nullptr) context_.protocol_error(fault);
  return fault == nullptr;
}

// The answer to a frame that was answered on a stream that was lost, if that answer stands. Bytes and
// openings are taken back and done once more, since the file may have changed at the source between the two
// times; a question comes again as it was, and what a pipe has got stays there. Bytes may have been refused
// because they waited for their turn when the stream was lost.
std::optional<CachedReply> TargetWorker::answer_again(const net::Frame& frame) {
  if ((frame.flags & net::kFlagAgain) == 0) return std::nullopt;
  context_.session.earlier.expect_repeats();
  const auto before = context_.session.files.replies.take(frame);
  if (!before) return std::nullopt;
  const bool is_data = frame.kind == FrameKind::data;
  const bool refused = before->status == AckStatus::refused;
  const bool stands = frame.kind == FrameKind::commit || frame.kind == FrameKind::compare ||
                      frame.kind == FrameKind::probe || frame.kind == FrameKind::names ||
                      context_.session.place.ordered;
  if (refused ? !is_data : stands) return before;
  chunks_.take_back(*before);
  return std::nullopt;
}

// The source says that a stream is lost. Answered when the stream's worker here has ended.
io::Step<AckStatus> TargetWorker::hear_of_loss(std::uint64_t stream) {
  StreamTable& streams = context_.session.streams;
  if (stream == context_.index || !streams.give_up(stream)) {
    context_.protocol_error("the loss of a stream that does not exist");
    co_return AckStatus::refused;
  }
  while (!streams.has_left(stream) && context_.may_wait()) co_await context_.turns->wait();
  co_return streams.has_left(stream) ? AckStatus::done : AckStatus::refused;
}

// On a stream that is shut nobody hears it, so it is kept for the case that the chunk comes again.
void TargetWorker::answer(const net::Frame& frame, const ChunkAnswer& answer) {
  answered_[frame.slot] = CachedReply{frame, answer.status, answer.verdicts};
  context_.stream->release(frame.slot, answer.status, answer.verdicts);
}

// Bytes must not change while they are parsed. So where the source can still write to the slot, a copy is
// parsed, after its digest was checked. The bytes of a file are no more to us than bytes: who changes them
// harms his own copy.
std::span<const std::byte> TargetWorker::payload_of(const net::Frame& frame, std::span<const std::byte> slot,
                                                    std::vector<std::byte>& copy) const {
  const std::span<const std::byte> payload = slot.first(frame.length);
  if (frame.kind == FrameKind::data || payload.empty() || !context_.stream->peer_can_write()) return payload;
  copy.assign(payload.begin(), payload.end());
  return copy;
}

// A connection that breaks is dropped, if it is not the last; a peer that breaks the protocol is not trusted
// over another one.
void TargetWorker::lose_stream(const io::Error& error) {
  if (std::exchange(stream_lost_, true)) return;
  if (error.kind != ErrorKind::connection ||
      !context_.session.streams.lose(context_.index, context_.stream->description(), error, carried_)) {
    context_.fail(error);
  }
}

// Ends the stream when the source has given it up, or has forgotten it; wakes those of the slots that wait
// for what can change.
void TargetWorker::look_around() {
  TargetSession& session = context_.session;
  net::Stream& stream = *context_.stream;
  const std::uint64_t changes = session.streams.changes();
  if (changes != seen_changes_) {
    seen_changes_ = changes;
    others_end_ = session.streams.any_ended();
    context_.turns->wake_all();
    if (session.streams.given_up(context_.index)) {
      stream.shut(
          io::plain_error(ErrorKind::connection, "receive from", "the source", "it lost the connection"));
    }
  }
  if (others_end_ && session.streams.overdue()) {
    stream.shut(io::plain_error(ErrorKind::connection, "receive from", "the source", "no end came"));
  }
  chunks_.look_around();
  look_for_reader();
  if (session.stopped()) stream.shut(io::plain_error(ErrorKind::interrupted, "copy", "", "stopped"));
  if (session.stopped() || stream.why_shut()) context_.turns->wake_all();
}

// A reader that goes away while nothing is written is not met by any write: poll(2) tells of it.
void TargetWorker::look_for_reader() {
  constexpr std::chrono::milliseconds kEvery{500};
  const TargetPlace& place = context_.session.place;
  const auto now = io::Clock::now();
  if (!place.ordered || context_.session.refusing() || now < next_reader_look_) return;
  next_reader_look_ = now + kEvery;
  pollfd reader{place.in_place.get(), 0, 0};
  if (::poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0) {
    context_.fail(io::errno_error("write", place.name, EPIPE, ErrorKind::reader_gone));
  }
}

}  // namespace rdcp::tree
