// How a source finds out what of a large file need not be sent.
#include <algorithm>
#include <array>
#include <cassert>

#include "tree/pages/chunker.h"
#include "tree/pages/probe.h"
#include "tree/source/source_worker.h"

namespace rdcp::tree {

using net::AckStatus;
using net::FrameKind;

// Reads a span, and puts its blocks' digests into the slot. Less than asked for means that the file has
// become shorter; that is told at the end.
io::Step<SourceWorker::Chunk> SourceWorker::probe_span(Work& work, std::span<std::byte> slot) {
  if (!work.probe.empty()) co_return probe_again(work, slot);
  FileTransfer& file = *work.file;
  const std::uint64_t block = file.block_bytes();
  const std::span<std::byte> room = room_of(slot);
  const std::uint64_t piece = bytes_at_once(room.size(), file.opened().file.resident, block);
  std::size_t blocks = 0;
  std::uint64_t done = 0;
  while (done < work.extent.length) {
    const io::Clock::time_point before = io::Clock::now();
    io::RingFile place = file.opened().file;
    const RegisteredFiles::Use use = files_->find(file.id(), place);
    const std::size_t wanted = std::min(piece, work.extent.length - done);
    const AlignedRead from(place, file.opened().begin + work.extent.offset + done, wanted);
    const io::IoResult read = co_await ring_->read(place, room.first(from.bytes), from.offset);
    std::uint64_t& spent = place.resident ? times_.read_busy_ns : times_.read_wait_ns;
    spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
    if (read.error != 0) {
      source_.reporter_.problem(io::errno_error("read", file.item().subject(), read.error));
      co_return Chunk(Chunk::State::failed);
    }
    const std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    const Stopwatch watch(times_.digest_ns);
    for (std::size_t at = 0; at < bytes.size(); at += block) {
      const std::size_t length = std::min<std::size_t>(block, bytes.size() - at);
      Probe::put_digest(slot, blocks++, io::digest_of(bytes.subspan(at, length)));
    }
    done += bytes.size();
    if (bytes.size() < wanted) break;
  }
  if (done < work.extent.length) source_.plan_.ended_early(file, work.extent.offset + done);
  work.extent.length = done;
  if (done == 0) co_return Chunk(Chunk::State::nothing);
  Probe::put_head(slot, Probe::Form::blocks, done, block);
  net::Frame frame = bare_frame(FrameKind::probe, file.id());
  frame.offset = work.extent.offset;
  co_return with_digest(frame, slot, Probe::bytes_of(Probe::Form::blocks, blocks));
}

// Reads and cuts, as far as the target can answer in one word. A chunk that is not ended then is left for the
// next span.
io::Step<SourceWorker::Chunk> SourceWorker::probe_chunks(Work& work, std::span<std::byte> slot) {
  if (!work.probe.empty()) co_return probe_again(work, slot);
  FileTransfer& file = *work.file;
  const std::uint64_t average = file.chunk_average();
  const std::span<std::byte> room = room_of(slot);
  const std::uint64_t piece = bytes_at_once(room.size(), true, 1);
  const std::uint64_t offset = work.extent.offset;
  Chunker chunker(average);
  io::RunningDigest digest;
  std::size_t count = 0;
  std::uint64_t cut = 0;   // of the span: in chunks
  std::uint64_t seen = 0;  // and read
  const auto end_chunk = [&] {
    Probe::put_chunk(slot, count++, digest.finish(), seen - cut);
    cut = seen;
  };
  bool ended_early = false;
  while (seen < work.extent.length && count < kSpanPiecesMax && !ended_early) {
    const io::Clock::time_point before = io::Clock::now();
    const std::size_t wanted = std::min(piece, work.extent.length - seen);
    const AlignedRead from(file.opened().file, file.opened().begin + offset + seen, wanted);
    const io::IoResult read = co_await ring_->read(file.opened().file, room.first(from.bytes), from.offset);
    std::uint64_t& spent = file.opened().file.resident ? times_.read_busy_ns : times_.read_wait_ns;
    spent += static_cast<std::uint64_t>((io::Clock::now() - before).count());
    if (read.error != 0) {
      source_.reporter_.problem(io::errno_error("read", file.item().subject(), read.error));
      source_.plan_.chunks_read(file, 0);
      co_return Chunk(Chunk::State::failed);
    }
    std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    ended_early = bytes.size() < wanted;
    const Stopwatch watch(times_.digest_ns);
    while (!bytes.empty() && count < kSpanPiecesMax) {
      const std::size_t taken = chunker.take(bytes);
      digest.add(bytes.first(taken));
      bytes = bytes.subspan(taken);
      seen += taken;
      if (chunker.ended()) end_chunk();
    }
  }
  if (count < kSpanPiecesMax && seen > cut) end_chunk();
  if (ended_early) source_.plan_.ended_early(file, offset + seen);
  source_.plan_.chunks_read(file, ended_early ? work.extent.length : cut);
  work.extent.length = cut;
  if (cut == 0) co_return Chunk(Chunk::State::nothing);
  Probe::put_head(slot, Probe::Form::chunks, cut, average);
  net::Frame frame = bare_frame(FrameKind::probe, file.id());
  frame.offset = offset;
  co_return with_digest(frame, slot, Probe::bytes_of(Probe::Form::chunks, count));
}

// As it was, whatever has become of the file: the target may have acted on it.
SourceWorker::Chunk SourceWorker::probe_again(const Work& work, std::span<std::byte> slot) {
  std::ranges::copy(work.probe, slot.begin());
  net::Frame frame = bare_frame(FrameKind::probe, work.file->id());
  frame.offset = work.extent.offset;
  return with_digest(frame, slot, work.probe.size());
}

SourceWorker::Chunk SourceWorker::ask(const Work& work) {
  net::Frame frame = bare_frame(FrameKind::ask, work.file->id());
  frame.offset = work.extent.offset;
  Probe::put_question(frame.extra, work.extent.length, work.file->block_bytes());
  return Chunk(frame);
}

// slot: still holds the probe.
bool SourceWorker::settle_span(Work& work, const Chunk& chunk, AckStatus status,
                               std::span<const std::byte> slot, const net::Verdicts& verdicts) {
  const bool sent = chunk.state == Chunk::State::ready;
  const bool failed = chunk.state == Chunk::State::failed || (sent && status != AckStatus::done);
  std::array<ProbedPiece, kSpanPiecesMax> pieces;
  std::size_t count = 0;
  std::uint64_t kept_bytes = 0;
  if (sent && !failed) {
    const bool asked = chunk.frame.kind == FrameKind::ask;
    const auto probe =
        asked ? Probe::parse_question(chunk.frame.extra) : Probe::parse(slot.first(chunk.length));
    assert(probe);
    std::uint64_t offset = work.extent.offset;
    for (; count < probe->count(); ++count) {
      ProbedPiece& piece = pieces[count];
      piece.extent = {offset, probe->piece_length(count)};
      piece.verdict = static_cast<PieceVerdict>(verdicts.at(count));
      if (!asked) piece.digest = probe->digest(count);
      offset += piece.extent.length;
      if (piece.verdict != PieceVerdict::present) continue;
      kept_bytes += piece.extent.length;
    }
  }
  source_.counters_.bytes += kept_bytes;
  source_.counters_.kept_bytes += kept_bytes;
  work.probe.clear();
  PieceAnswer answer;
  answer.failed = failed;
  answer.settled_bytes = kept_bytes;
  answer.pieces = std::span(pieces).first(count);
  if (source_.plan_.settle_span(work, answer)) return true;
  work.file.reset();
  return false;
}

}  // namespace rdcp::tree
