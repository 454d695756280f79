#include "tree/session/file_read_back.h"

#include <algorithm>

namespace rdcp::tree {

using net::AckStatus;

io::RingFile FileReadBack::file(TargetFile& file) {
  // The descriptor is switched to the page cache when chunks are taken over that have moved.
  const bool stays_direct = file.file.direct && (file.old == nullptr || !file.old->may_have_moved);
  io::RingFile back;
  {
    const std::lock_guard lock(file.mutex);
    if (!file.back) {
      file.back = stays_direct ? ReadBackFile{.file = file.file} : open_read_back(file.file.fd);
    }
    back = file.back->file;
  }
  if (!back.direct && !io::drop_pages(back.fd)) context_.session.tally.read_from_cache = true;
  return back;
}

io::Step<AckStatus> FileReadBack::check(TargetFile& file, const net::Frame& frame,
                                        std::span<std::byte> slot) {
  const io::RingFile back = this->file(file);
  const std::span<std::byte> bytes = slot.first(io::round_up(frame.length, io::kPageBytes));
  const io::IoResult read = co_await context_.ring->read(back, bytes, frame.offset);
  if (read.error != 0) {
    if (file.fail()) context_.report(io::errno_error("read back", file.subject, read.error));
    co_return AckStatus::refused;
  }
  const Stopwatch watch(context_.times.digest_ns);
  if (read.bytes >= frame.length && io::digest_of(bytes.first(frame.length)) == frame.digest) {
    co_return AckStatus::done;
  }
  context_.session.tally.note_misread(file.subject);
  co_return AckStatus::bad_digest;
}

io::Step<bool> FileReadBack::check_blocks(TargetFile& file, ProbedBlocks blocks, std::span<std::byte> room) {
  std::size_t first = blocks.first;
  std::size_t behind = blocks.behind;
  while (first < behind && !piece_is_present(blocks.verdicts, first)) ++first;
  while (first < behind && !piece_is_present(blocks.verdicts, behind - 1)) --behind;
  if (first == behind) co_return true;
  const std::uint64_t begin = blocks.probe.block(first).offset;
  const io::Extent last = blocks.probe.block(behind - 1);
  const std::size_t wanted = last.offset + last.length - begin;
  const io::RingFile disk = this->file(file);
  const AlignedRead from(disk, blocks.offset + begin, wanted);
  const io::IoResult read = co_await context_.ring->read(disk, room.first(from.bytes), from.offset);
  std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
  const Stopwatch watch(context_.times.digest_ns);
  bool right = true;
  for (std::size_t i = first; i < behind; ++i) {
    const std::size_t length = std::min<std::size_t>(blocks.probe.block(i).length, bytes.size());
    const std::span<const std::byte> block = bytes.first(length);
    bytes = bytes.subspan(length);
    if (!piece_is_present(blocks.verdicts, i) || io::digest_of(block) == blocks.probe.digest(i)) continue;
    set_verdict(blocks.verdicts, i, PieceVerdict::missing);
    context_.session.tally.note_misread(file.subject);
    right = false;
  }
  co_return right;
}

// An extent that is shorter than was wanted, or that cannot be read, has another digest.
io::Step<io::Digest> FileReadBack::digest(io::RingFile disk, io::Extent extent, std::span<std::byte> room) {
  const std::uint64_t piece = bytes_at_once(room.size(), true, 1);
  io::RunningDigest running;
  for (std::uint64_t done = 0; done < extent.length;) {
    const std::size_t wanted = std::min(piece, extent.length - done);
    const AlignedRead from(disk, extent.offset + done, wanted);
    const io::IoResult read = co_await context_.ring->read(disk, room.first(from.bytes), from.offset);
    const std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    const Stopwatch watch(context_.times.digest_ns);
    running.add(bytes);
    if (bytes.size() < wanted) break;
    done += wanted;
  }
  co_return running.finish();
}

io::Step<PageRests> FileReadBack::rests(TargetFile& file, io::Extent extent, std::span<std::byte> room) {
  const io::RingFile disk = this->file(file);
  const std::uint64_t end = extent.offset + extent.length;
  const std::uint64_t before = extent.offset % io::kPageBytes;
  PageRests rests;
  const io::Extent first{extent.offset - before, before};
  const io::Extent last{end, io::round_up(end, io::kPageBytes) - end};
  rests.before = co_await digest(disk, first, room);
  rests.behind = co_await digest(disk, last, room);
  co_return rests;
}

io::Step<bool> FileReadBack::check_chunks(TargetFile& file, ProbedSpan chunks, PageRests before,
                                          std::span<std::byte> room) {
  const PageRests now = co_await rests(file, chunks.extent(), room);
  const io::RingFile disk = this->file(file);
  const Probe& probe = chunks.probe;
  bool right = true;
  std::uint64_t at = chunks.offset;
  for (std::size_t i = 0; i < probe.count(); ++i) {
    const io::Extent chunk{at, probe.piece_length(i)};
    at += chunk.length;
    if (!piece_is_present(chunks.verdicts, i)) continue;
    const io::Digest found = co_await digest(disk, chunk, room);
    const bool changed_others =
        (i == 0 && now.before != before.before) || (i + 1 == probe.count() && now.behind != before.behind);
    if (found == probe.digest(i) && !changed_others) {
      file.add(chunk.offset, chunk.length, probe.digest(i));
      context_.session.tally.bytes += chunk.length;
      continue;
    }
    if (found != probe.digest(i)) context_.session.tally.note_misread(file.subject);
    set_verdict(chunks.verdicts, i, PieceVerdict::missing);
    right = false;
  }
  co_return right;
}

}  // namespace rdcp::tree
