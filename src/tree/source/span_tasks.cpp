// Spans of large files: what of them need not be sent is asked of the target.
#include <algorithm>
#include <array>
#include <cassert>

#include "tree/pages/chunker.h"
#include "tree/pages/probe.h"
#include "tree/source/tasks.h"

namespace rdcp::tree {

using net::FrameKind;

namespace {

FilledSlot fail_read(const FileTransfer& file, int error, TaskContext& context) {
  context.session.reporter().problem(io::errno_error("read", file.item().subject(), error));
  return FilledSlot(FilledSlot::State::failed);
}

void count_time(const FileTransfer& file, io::Clock::time_point since, StageTimes& times) {
  std::uint64_t& spent = file.opened().file.resident ? times.read_busy_ns : times.read_wait_ns;
  spent += static_cast<std::uint64_t>((io::Clock::now() - since).count());
}

// The slot has `length` bytes of a probe.
FilledSlot probe(const FileTransfer& file, std::uint64_t offset, std::span<const std::byte> slot,
                 std::size_t length, TaskContext& context) {
  net::Frame frame = bare_frame(FrameKind::probe, file.id());
  frame.offset = offset;
  return with_digest(frame, slot, length, context);
}

// Makes the same frame again, whatever has become of the file, because the target may have acted on the
// first.
FilledSlot probe_again(const FileTransfer& file, std::uint64_t offset, std::span<const std::byte> sent,
                       std::span<std::byte> slot, TaskContext& context) {
  std::ranges::copy(sent, slot.begin());
  return probe(file, offset, slot, sent.size(), context);
}

// Puts the chunks of a span into a slot, as far as the target can answer in one word.
class SpanCutter {
 public:
  SpanCutter(std::uint64_t average, std::span<std::byte> slot) : chunker_(average), slot_(slot) {}
  bool is_full() const { return count_ == kSpanPiecesMax; }
  std::size_t count() const { return count_; }
  std::uint64_t seen() const { return seen_; }
  std::uint64_t cut() const { return cut_; }  // of that, in chunks

  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty() && !is_full()) {
      const std::size_t taken = chunker_.take(bytes);
      digest_.add(bytes.first(taken));
      bytes = bytes.subspan(taken);
      seen_ += taken;
      if (chunker_.ended()) end_chunk();
    }
  }
  // A chunk that is not ended when the slot is full is left for the next span.
  void finish() {
    if (!is_full() && seen_ > cut_) end_chunk();
  }

 private:
  void end_chunk() {
    Probe::put_chunk(slot_, count_++, digest_.finish(), seen_ - cut_);
    cut_ = seen_;
  }

  Chunker chunker_;
  const std::span<std::byte> slot_;
  io::RunningDigest digest_;
  std::size_t count_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t cut_ = 0;
};

// The slot, or the frame of an ask, still says which pieces the span has.
std::optional<Task> settle_span(const FileTransferRef& file, const io::Extent& extent, Spans asked,
                                const SlotAnswer& answer, TaskContext& context) {
  std::array<ProbedPiece, kSpanPiecesMax> pieces;
  std::size_t count = 0;
  std::uint64_t kept = 0;
  if (answer.is_done()) {
    const bool has_digests = asked != Spans::ask;
    // In a chain a block that one target has comes to it as data where another one lacks it, and counts then.
    const bool counts = has_digests && (file->compares() || !context.session.is_chained());
    const auto question = has_digests ? Probe::parse(answer.slot.first(answer.filled.length))
                                      : Probe::parse_question(answer.filled.frame.extra);
    assert(question);
    std::uint64_t offset = extent.offset;
    for (; count < question->count(); ++count) {
      ProbedPiece& piece = pieces[count];
      piece.extent = {offset, question->piece_length(count)};
      piece.verdict = static_cast<PieceVerdict>(answer.verdicts.at(count));
      if (counts) piece.digest = question->digest(count);
      offset += piece.extent.length;
      if (piece.is_present()) kept += piece.extent.length;
    }
  }
  context.session.totals().count_bytes(kept, kept);
  PieceAnswer span;
  span.failed = answer.is_failure();
  span.settled_bytes = kept;
  span.pieces = std::span(pieces).first(count);
  return context.session.plan().settle_span(file, asked, span);
}

}  // namespace

// Reads a span, and puts its blocks' digests into the slot. Less than asked for means that the file has
// become shorter; that is told at the end.
io::Step<FilledSlot> fill(ProbeTask& task, std::span<std::byte> slot, TaskContext& context) {
  FileTransfer& file = *task.file;
  if (!task.sent.empty()) co_return probe_again(file, task.extent.offset, task.sent, slot, context);
  const std::uint64_t block = file.block_bytes();
  const std::span<std::byte> room = room_of(slot);
  const std::uint64_t piece = bytes_at_once(room.size(), file.opened().file.resident, block);
  std::size_t blocks = 0;
  std::uint64_t done = 0;
  while (done < task.extent.length) {
    const io::Clock::time_point before = io::Clock::now();
    io::RingFile place = file.opened().file;
    const RegisteredFiles::Use use = context.files.find(file.id(), place);
    const std::size_t wanted = std::min(piece, task.extent.length - done);
    const AlignedRead from(place, file.opened().begin + task.extent.offset + done, wanted);
    const io::IoResult read = co_await context.ring.read(place, room.first(from.bytes), from.offset);
    count_time(file, before, context.times);
    if (read.error != 0) co_return fail_read(file, read.error, context);
    const std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    const Stopwatch watch(context.times.digest_ns);
    for (std::size_t at = 0; at < bytes.size(); at += block) {
      const std::size_t length = std::min<std::size_t>(block, bytes.size() - at);
      Probe::put_digest(slot, blocks++, io::digest_of(bytes.subspan(at, length)));
    }
    done += bytes.size();
    if (bytes.size() < wanted) break;
  }
  if (done < task.extent.length) context.session.plan().end_early(file, task.extent.offset + done);
  task.extent.length = done;
  if (done == 0) co_return FilledSlot(FilledSlot::State::nothing);
  Probe::put_head(slot, Probe::Form::blocks, done, block);
  co_return probe(file, task.extent.offset, slot, Probe::bytes_of(Probe::Form::blocks, blocks), context);
}

io::Step<FilledSlot> fill(ChunksTask& task, std::span<std::byte> slot, TaskContext& context) {
  FileTransfer& file = *task.file;
  const std::uint64_t offset = task.extent.offset;
  if (!task.sent.empty()) co_return probe_again(file, offset, task.sent, slot, context);
  Plan& plan = context.session.plan();
  const std::uint64_t average = file.chunk_average();
  const std::span<std::byte> room = room_of(slot);
  const std::uint64_t piece = bytes_at_once(room.size(), true, 1);
  SpanCutter cutter(average, slot);
  bool ended_early = false;
  while (cutter.seen() < task.extent.length && !cutter.is_full() && !ended_early) {
    const io::Clock::time_point before = io::Clock::now();
    const io::RingFile& place = file.opened().file;
    const std::size_t wanted = std::min(piece, task.extent.length - cutter.seen());
    const AlignedRead from(place, file.opened().begin + offset + cutter.seen(), wanted);
    const io::IoResult read = co_await context.ring.read(place, room.first(from.bytes), from.offset);
    count_time(file, before, context.times);
    if (read.error != 0) {
      plan.chunks_cut(file, 0);
      co_return fail_read(file, read.error, context);
    }
    const std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    ended_early = bytes.size() < wanted;
    const Stopwatch watch(context.times.digest_ns);
    cutter.add(bytes);
  }
  cutter.finish();
  if (ended_early) plan.end_early(file, offset + cutter.seen());
  plan.chunks_cut(file, ended_early ? task.extent.length : cutter.cut());
  task.extent.length = cutter.cut();
  if (cutter.cut() == 0) co_return FilledSlot(FilledSlot::State::nothing);
  Probe::put_head(slot, Probe::Form::chunks, cutter.cut(), average);
  co_return probe(file, offset, slot, Probe::bytes_of(Probe::Form::chunks, cutter.count()), context);
}

FilledSlot fill(AskTask& task, std::span<std::byte>, TaskContext&) {
  net::Frame frame = bare_frame(FrameKind::ask, task.file->id());
  frame.offset = task.extent.offset;
  Probe::put_question(frame.extra, task.extent.length, task.file->block_bytes());
  return FilledSlot(frame);
}

std::optional<Task> settle(ProbeTask& task, const SlotAnswer& answer, TaskContext& context) {
  return settle_span(task.file, task.extent, task.asked, answer, context);
}

std::optional<Task> settle(ChunksTask& task, const SlotAnswer& answer, TaskContext& context) {
  return settle_span(task.file, task.extent, Spans::chunks, answer, context);
}

std::optional<Task> settle(AskTask& task, const SlotAnswer& answer, TaskContext& context) {
  return settle_span(task.file, task.extent, Spans::ask, answer, context);
}

}  // namespace rdcp::tree
