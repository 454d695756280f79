#include "tree/handlers/block_probes.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>

namespace rdcp::tree {

using net::AckStatus;

namespace {

// Lets both files share the extent. Returns false if the filesystem cannot do that; then it is written
// instead.
bool clone_range(BasisFile& old, int to, const io::Extent& extent) {
  if (!old.clones) return false;
  file_clone_range range{.src_fd = old.fd.get(),
                         .src_offset = extent.offset,
                         .src_length = extent.length,
                         .dest_offset = extent.offset};
  if (::ioctl(to, FICLONERANGE, &range) != 0) {
    old.clones = false;
    return false;
  }
  old.was_cloned = true;
  return true;
}

}  // namespace

io::Step<AckStatus> BlockProbes::probe(TargetFileRef file, ProbedSpan probed, std::span<std::byte> room) {
  BasisFile& old = *file->old;
  const Probe& probe = probed.probe;
  // Blocks that are written have to be read back; blocks that stay do not, if they have just been read from
  // the disk.
  const bool reads_back =
      context_.read_back != nullptr && !file->compares && !(file->stays && old.file.direct);
  const std::size_t at_once = bytes_at_once(room.size(), old.file.resident, probe.size()) / probe.size();
  for (std::size_t first = 0; first < probe.count() && !context_.giving_up(); first += at_once) {
    const std::size_t behind = std::min(first + at_once, probe.count());
    const std::uint64_t begin = probe.block(first).offset;
    const io::Extent last = probe.block(behind - 1);
    const std::size_t wanted = last.offset + last.length - begin;
    const AlignedRead from(old.file, probed.offset + begin, wanted);
    const io::IoResult read = co_await context_.ring->read(old.file, room.first(from.bytes), from.offset);
    // Blocks that cannot be read, or do not exist, are sent.
    const std::span<std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    const ProbedBlocks blocks{probe, probed.verdicts, probed.offset, first, behind};
    compare(*file, blocks, bytes);
    if (!file->stays) {
      const bool written = co_await take_over(*file, blocks, bytes);
      if (!written) co_return AckStatus::refused;
    }
    if (reads_back) co_await read_back_.check_blocks(*file, blocks, room);
    count(*file, blocks);
  }
  co_return context_.giving_up() ? AckStatus::refused : AckStatus::done;
}

// bytes: from the first block on, as far as the old file has them.
void BlockProbes::compare(const TargetFile& file, const ProbedBlocks& blocks,
                          std::span<const std::byte> bytes) {
  const Stopwatch watch(context_.times.digest_ns);
  const Probe& probe = blocks.probe;
  const std::uint64_t begin = probe.block(blocks.first).offset;
  for (std::size_t i = blocks.first; i < probe.count() && probe.block(i).offset - begin < bytes.size(); ++i) {
    const auto [at, length] = probe.block(i);
    const std::span<const std::byte> block = bytes.subspan(at - begin);
    if (block.size() >= length && io::digest_of(block.first(length)) == probe.digest(i)) {
      set_verdict(blocks.verdicts, i, PieceVerdict::present);
    } else if (file.old->may_have_moved) {
      set_verdict(blocks.verdicts, i, PieceVerdict::moved);
    }
  }
}

// Takes over the blocks that are equal, adjacent ones at once: shares them with the old file, or writes them.
// `bytes` are the old file's, from the first of the blocks on. Returns false if they cannot be written, which
// has been reported.
io::Step<bool> BlockProbes::take_over(TargetFile& file, ProbedBlocks blocks, std::span<std::byte> bytes) {
  const std::uint64_t begin = blocks.probe.block(blocks.first).offset;
  for (std::size_t i = blocks.first; i < blocks.behind; ++i) {
    std::size_t end = i;
    while (end < blocks.behind && piece_is_present(blocks.verdicts, end)) ++end;
    if (end == i) continue;
    const io::Extent run_begin = blocks.probe.block(i);
    const io::Extent run_last = blocks.probe.block(end - 1);
    const io::Extent run{blocks.offset + run_begin.offset,
                         run_last.offset + run_last.length - run_begin.offset};
    i = end;
    if (clone_range(*file.old, file.fd(), run)) continue;
    io::RingFile place = file.place();
    const RegisteredFiles::Use use = context_.files->find(file.serial, place);
    std::byte* at = bytes.data() + (run_begin.offset - begin);
    std::size_t length = run.length;
    if (place.direct) {
      length = io::round_up(length, io::kPageBytes);
      std::memset(at + run.length, 0, length - run.length);
    }
    const io::IoResult written = co_await context_.ring->write(place, std::span(at, length), run.offset);
    if (writer_.failed_to_write(file, written, length)) co_return false;
  }
  co_return true;
}

// Takes the blocks that are present into the file's account, and notes which ones are to come. One that
// may have moved is asked about once more, in another way.
void BlockProbes::count(TargetFile& file, const ProbedBlocks& blocks) {
  for (std::size_t i = blocks.first; i < blocks.behind; ++i) {
    const io::Extent within = blocks.probe.block(i);
    const io::Extent block{blocks.offset + within.offset, within.length};
    if (!piece_is_present(blocks.verdicts, i)) {
      if (!file.compares && blocks.verdicts.at(i) == static_cast<std::uint8_t>(PieceVerdict::missing))
        context_.want(file, block);
      continue;
    }
    const io::Digest digest = blocks.probe.digest(i);
    // Another target may lack it; then it comes as data, which count for all of them.
    const bool counts = file.compares || !context_.session.files.others;
    counts ? file.add(block.offset, block.length, digest) : file.have(block);
    if (Journal* journal = file.journal()) journal->add(block.offset, block.length, digest);
    if (!file.compares) context_.session.tally.bytes += block.length;
  }
}

}  // namespace rdcp::tree
