// Extents of large files: read and sent, or copied by the target's kernel.
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tree/source/tasks.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

namespace {

std::size_t bytes_to_read(const DataTask& task) {
  const bool direct = task.file->opened().file.direct;
  return direct ? io::round_up(task.extent.length, io::kPageBytes) : task.extent.length;
}

std::uint64_t place_of(const DataTask& task) {
  return task.file->is_byte_stream() ? io::kNoOffset : task.file->opened().begin + task.extent.offset;
}

// A chunk out of what was read. Less than asked for means that the file has become shorter; that is told at
// the end.
FilledSlot take_read(DataTask& task, const io::IoResult& read, std::span<std::byte> slot,
                     TaskContext& context) {
  Plan& plan = context.session.plan();
  FileTransfer& file = *task.file;
  const std::size_t bytes = std::min<std::size_t>(read.bytes, task.extent.length);
  if (file.is_byte_stream()) {
    task.extent.offset = file.length();
    plan.stream_read(file, bytes, read.at_end || read.error != 0);
  }
  if (read.error != 0) {
    context.session.reporter().problem(io::errno_error("read", file.item().subject(), read.error));
    return FilledSlot(FilledSlot::State::failed);
  }
  if (bytes < task.extent.length && !file.is_byte_stream()) plan.end_early(file, task.extent.offset + bytes);
  if (bytes == 0) return FilledSlot(FilledSlot::State::nothing);
  task.extent.length = bytes;
  net::Frame frame = bare_frame(FrameKind::data, file.id());
  frame.offset = task.extent.offset;
  FilledSlot filled = with_digest(frame, slot, bytes, context);
  filled.read_anew = !file.is_byte_stream();
  return filled;
}

// A FIFO has no end before it has had a writer.
io::Step<FilledSlot> fill_from_writer(DataTask& task, std::span<std::byte> slot, TaskContext& context) {
  const io::Clock::time_point before = io::Clock::now();
  ++context.endless_reads;
  co_await context.ring.poll(task.file->opened().fd.get(), POLLIN);
  --context.endless_reads;
  context.times.read_wait_ns += static_cast<std::uint64_t>((io::Clock::now() - before).count());
  Filling read(task, slot, context);
  FilledSlot filled = co_await read;
  co_return filled;
}

std::optional<Task> settle_sent(const FileTransferRef& file, const io::Extent& extent,
                                const SlotAnswer& answer, TaskContext& context) {
  Plan& plan = context.session.plan();
  if (answer.status == AckStatus::unsupported) {
    plan.return_extent(file, extent);
    return std::nullopt;
  }
  PieceAnswer piece;
  piece.failed = answer.is_failure();
  if (answer.is_done()) {
    piece.settled_bytes = extent.length;
    if (answer.filled.frame.kind == FrameKind::data) piece.data = &answer.filled.frame;
    context.session.totals().count_bytes(extent.length);
  }
  return plan.settle_extent(file, piece);
}

}  // namespace

FilledSlot with_digest(net::Frame frame, std::span<const std::byte> slot, std::size_t length,
                       TaskContext& context) {
  const Stopwatch watch(context.times.digest_ns);
  frame.length = static_cast<std::uint32_t>(length);
  frame.digest = io::digest_of(slot.first(length));
  return FilledSlot(frame, length);
}

DataRead::DataRead(DataTask& task, std::span<std::byte> slot, TaskContext& context)
    : task_(task),
      slot_(slot),
      context_(context),
      place_(task.file->opened().file),
      use_(context.files.find(task.file->id(), place_)),
      operation_(context.ring.read(place_, slot.first(bytes_to_read(task)), place_of(task))) {
  if (task.file->is_byte_stream()) ++context.endless_reads;
}

FilledSlot DataRead::finish() {
  const io::IoResult read = operation_.await_resume();
  if (task_.file->is_byte_stream()) --context_.endless_reads;
  StageTimes& times = context_.times;
  std::uint64_t& spent = place_.resident ? times.read_busy_ns : times.read_wait_ns;
  spent += static_cast<std::uint64_t>((io::Clock::now() - begun_).count());
  return take_read(task_, read, slot_, context_);
}

Filling fill(DataTask& task, std::span<std::byte> slot, TaskContext& context) {
  const bool first = task.file->is_byte_stream() && task.extent.offset == 0;
  if (first && task.file->item().root().waits_for_writer) return fill_from_writer(task, slot, context);
  return Filling(task, slot, context);
}

FilledSlot fill(CopyRangeTask& task, std::span<std::byte>, TaskContext&) {
  net::Frame frame = bare_frame(FrameKind::copy_range, task.file->id());
  frame.offset = task.extent.offset;
  const std::int64_t fd = task.file->opened().fd.get();
  const std::uint64_t length = task.extent.length;
  std::memcpy(frame.extra.bytes.data(), &fd, sizeof fd);
  std::memcpy(frame.extra.bytes.data() + sizeof fd, &length, sizeof length);
  FilledSlot filled(frame);
  filled.moves = length;
  return filled;
}

std::optional<Task> settle(DataTask& task, const SlotAnswer& answer, TaskContext& context) {
  return settle_sent(task.file, task.extent, answer, context);
}

std::optional<Task> settle(CopyRangeTask& task, const SlotAnswer& answer, TaskContext& context) {
  return settle_sent(task.file, task.extent, answer, context);
}

}  // namespace rdcp::tree
