// How a source finds out what of a large file need not be sent.
#include <algorithm>
#include <array>
#include <cstring>

#include "tree/probe.h"
#include "tree/source_worker.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

// Reads a span, and puts its blocks' digests into the slot. Less than asked for means that the file has
// become shorter; that is told at the end.
io::Step<SourceWorker::Chunk> SourceWorker::probe_span(Work& work, std::span<std::byte> slot) {
  if (!work.probe.empty()) co_return probe_again(work, slot);
  LargeFile& file = *work.file;
  const std::uint64_t block = file.block_bytes;
  const std::span<std::byte> room = room_of(slot);
  const std::uint64_t piece = file.file.resident ? block : room.size() / block * block;
  std::size_t blocks = 0;
  std::uint64_t done = 0;
  while (done < work.extent.length) {
    const io::Clock::time_point before = io::Clock::now();
    io::RingFile place = file.file;
    const RegisteredFiles::Use use = files_->find(file.id, place);
    const std::size_t wanted = std::min(piece, work.extent.length - done);
    const std::size_t asked = place.direct ? io::round_up(wanted, io::kPageBytes) : wanted;
    const io::IoResult read =
        co_await ring_->read(place, room.first(asked), file.begin + work.extent.offset + done);
    std::uint64_t& spent = place.resident ? times_.read_busy_ns : times_.read_wait_ns;
    spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
    if (read.error != 0) {
      source_.reporter_.problem(io::errno_error("read", file.item.subject(), read.error));
      co_return Chunk(Chunk::State::failed);
    }
    const std::size_t got = std::min(read.bytes, wanted);
    const Stopwatch watch(times_.digest_ns);
    for (std::size_t at = 0; at < got; at += block) {
      const std::size_t length = std::min<std::size_t>(block, got - at);
      Probe::put_digest(slot, blocks++, io::digest_of(room.subspan(at, length)));
    }
    done += got;
    if (got < wanted) break;
  }
  if (done < work.extent.length) source_.plan_.ended_early(file, work.extent.offset + done);
  work.extent.length = done;
  if (done == 0) co_return Chunk(Chunk::State::nothing);
  Probe::put_head(slot, done, block);
  net::Frame frame = bare_frame(FrameKind::probe, file.id);
  frame.offset = work.extent.offset;
  co_return with_digest(frame, slot, Probe::bytes_of(blocks));
}

// As it was, whatever has become of the file: the target may have acted on it.
SourceWorker::Chunk SourceWorker::probe_again(const Work& work, std::span<std::byte> slot) {
  std::ranges::copy(work.probe, slot.begin());
  net::Frame frame = bare_frame(FrameKind::probe, work.file->id);
  frame.offset = work.extent.offset;
  return with_digest(frame, slot, work.probe.size());
}

SourceWorker::Chunk SourceWorker::ask(const Work& work) {
  net::Frame frame = bare_frame(FrameKind::ask, work.file->id);
  frame.offset = work.extent.offset;
  Probe::put_question(frame.extra, work.extent.length, work.file->block_bytes);
  return Chunk(frame);
}

// slot: still holds the probe.
bool SourceWorker::settle_span(Work& work, const Chunk& chunk, AckStatus status,
                               std::span<const std::byte> slot, const net::Verdicts& verdicts) {
  const bool sent = chunk.state == Chunk::State::ready;
  const bool failed = chunk.state == Chunk::State::failed || (sent && status != AckStatus::done);
  std::array<ProbedBlock, kSpanBlocksMax> blocks;
  std::size_t count = 0;
  for (std::uint64_t at = 0; sent && !failed && at < work.extent.length; at += work.file->block_bytes) {
    ProbedBlock& block = blocks[count];
    block.extent = {work.extent.offset + at, std::min(work.file->block_bytes, work.extent.length - at)};
    if (chunk.frame.kind == FrameKind::probe) block.digest = Probe::digest_in(slot, count);
    block.present = verdicts.at(count) == static_cast<std::uint8_t>(PieceVerdict::present);
    if (block.present) {
      source_.counters_.bytes += block.extent.length;
      source_.counters_.kept_bytes += block.extent.length;
    }
    ++count;
  }
  work.probe.clear();
  if (source_.plan_.settle_span(work, failed, std::span(blocks).first(count))) return true;
  work.file.reset();
  return false;
}

}  // namespace rdcp::tree
