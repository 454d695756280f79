// What --verify adds to a target: bytes that are read back from the disk before they count as written.
#include <algorithm>
#include <utility>

#include "tree/pages/probe.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using net::AckStatus;

namespace {

constexpr auto kMissing = static_cast<std::uint8_t>(PieceVerdict::missing);
constexpr auto kPresent = static_cast<std::uint8_t>(PieceVerdict::present);

}  // namespace

// Takes up the archive's next entries. False: there are none left, or the run is over (reported).
bool TargetWorker::write_some(CheckedArchive& archive) {
  const auto opened =
      std::exchange(archive.opened, true) ? io::Result<void>() : archive.reader.open(archive.chunk);
  if (!opened) fail(opened.error());
  archive.parts.clear();
  while (opened && !archive.over && archive.parts.size() < CheckedArchive::kGroup && !giving_up()) {
    CheckedArchive::Part& part = archive.parts.emplace_back();
    const auto more = next_entry(archive.reader, part.entry);
    if (!more) fail(more.error());
    if (!more || !*more) {
      archive.parts.pop_back();
      archive.over = true;
      break;
    }
    if (part.entry.type != EntryType::file || part.entry.attributes_only) continue;
    auto written = tree_->write_file(part.entry, archive.reader, &part.check.blocks);
    if (!written) {
      report(written.error());
      archive.parts.pop_back();
      continue;
    }
    part.written = std::move(*written);
    part.check.size = part.entry.size;
    part.check.from = turn_to_read_back(part.written->file.fd());
    if (!part.check.from.from_disk) target_.read_from_cache_ = true;
    read_back_->add(part.check, archive.group);
  }
  return !archive.parts.empty();
}

// What of them was read back as it came gets its name; else the whole archive is sent again.
AckStatus TargetWorker::name_written(CheckedArchive& archive) {
  for (CheckedArchive::Part& part : archive.parts) {
    if (part.check.equal) continue;
    const std::string subject = tree_->subject(part.entry.path);
    if (part.check.error == 0) {
      target_.note_misread(subject);
      archive.parts.clear();
      return AckStatus::bad_digest;
    }
    report(io::errno_error("read back", subject, part.check.error));
  }
  for (CheckedArchive::Part& part : archive.parts) {
    if (giving_up()) break;
    if (!part.check.equal) continue;
    const auto put =
        part.written ? tree_->name_file(part.entry, *part.written) : put_without_content(part.entry);
    if (!put) {
      report(put.error());
    } else {
      archive.named_bytes += part.entry.size;
    }
  }
  archive.parts.clear();
  return target_.refusing() ? AckStatus::refused : AckStatus::done;
}

// By the way of all other archives.
io::Result<void> TargetWorker::put_without_content(Entry& entry) {
  std::swap(entry_, entry);
  auto put = put_entry();
  std::swap(entry_, entry);
  return put;
}

// How a large file is read from its disk, whatever it was opened for.
io::RingFile TargetWorker::read_back_of(TargetFile& file) {
  // Its descriptor turns to the page cache when chunks are taken over that have moved.
  const bool stays_direct = file.file.direct && (file.old == nullptr || !file.old->may_have_moved);
  io::RingFile back;
  {
    const std::lock_guard lock(file.mutex);
    if (!file.back) {
      file.back = stays_direct ? ReadBackFile{.file = file.file} : open_read_back(file.file.fd);
    }
    back = file.back->file;
  }
  if (!back.direct && !io::drop_pages(back.fd)) target_.read_from_cache_ = true;
  return back;
}

// A chunk of a large file, as it was read back. Not as it came: it is sent again, and written once more.
AckStatus TargetWorker::found(TargetFile& file, const net::Frame& frame, const io::IoResult& read,
                              std::span<const std::byte> bytes) {
  if (read.error != 0) {
    if (file.fail()) report(io::errno_error("read back", file.subject, read.error));
    return AckStatus::refused;
  }
  const Stopwatch watch(times_.digest_ns);
  if (read.bytes >= frame.length && io::digest_of(bytes.first(frame.length)) == frame.digest) {
    return AckStatus::done;
  }
  target_.note_misread(file.subject);
  return AckStatus::bad_digest;
}

// Blocks that were taken over, or stay where they are. What the disk has otherwise counts as missing, and is
// sent. False: there was some.
io::Step<bool> TargetWorker::read_back_blocks(TargetFile& file, const ProbedBlocks& blocks,
                                              std::span<std::byte> room) {
  std::size_t first = blocks.first;
  std::size_t behind = blocks.behind;
  while (first < behind && blocks.verdicts.at(first) != kPresent) ++first;
  while (first < behind && blocks.verdicts.at(behind - 1) != kPresent) --behind;
  if (first == behind) co_return true;
  const std::uint64_t begin = blocks.probe.block(first).offset;
  const io::Extent last = blocks.probe.block(behind - 1);
  const std::size_t wanted = last.offset + last.length - begin;
  const io::RingFile disk = read_back_of(file);
  const AlignedRead from(disk, blocks.offset + begin, wanted);
  const io::IoResult read = co_await ring_->read(disk, room.first(from.bytes), from.offset);
  std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
  const Stopwatch watch(times_.digest_ns);
  bool right = true;
  for (std::size_t i = first; i < behind; ++i) {
    const std::size_t length = std::min<std::size_t>(blocks.probe.block(i).length, bytes.size());
    const std::span<const std::byte> block = bytes.first(length);
    bytes = bytes.subspan(length);
    if (blocks.verdicts.at(i) != kPresent || io::digest_of(block) == blocks.probe.digest(i)) continue;
    blocks.verdicts.set(i, kMissing);
    target_.note_misread(file.subject);
    right = false;
  }
  co_return right;
}

// Of less than was wanted, and of what cannot be read, it is another one.
io::Step<io::Digest> TargetWorker::digest_on_disk(io::RingFile disk, io::Extent extent,
                                                  std::span<std::byte> room) {
  const std::uint64_t piece = bytes_at_once(room.size(), true, 1);
  io::RunningDigest running;
  for (std::uint64_t done = 0; done < extent.length;) {
    const std::size_t wanted = std::min(piece, extent.length - done);
    const AlignedRead from(disk, extent.offset + done, wanted);
    const io::IoResult read = co_await ring_->read(disk, room.first(from.bytes), from.offset);
    const std::span<const std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    const Stopwatch watch(times_.digest_ns);
    running.add(bytes);
    if (bytes.size() < wanted) break;
    done += wanted;
  }
  co_return running.finish();
}

io::Step<TargetWorker::PageRests> TargetWorker::rests_on_disk(TargetFile& file, io::Extent extent,
                                                              std::span<std::byte> room) {
  const io::RingFile disk = read_back_of(file);
  const std::uint64_t end = extent.offset + extent.length;
  const std::uint64_t before = extent.offset % io::kPageBytes;
  PageRests rests;
  const io::Extent first{extent.offset - before, before};
  const io::Extent last{end, io::round_up(end, io::kPageBytes) - end};
  rests.before = co_await digest_on_disk(disk, first, room);
  rests.behind = co_await digest_on_disk(disk, last, room);
  co_return rests;
}

// As of blocks. With the first and the last of them, what is beside them in their pages has been written once
// more: if that is not what it was before, they are sent with all that is in these pages.
io::Step<bool> TargetWorker::read_back_chunks(TargetFile& file, const Probe& probe, std::uint64_t offset,
                                              const PageRests& before, std::span<std::byte> room,
                                              net::Verdicts& verdicts) {
  const io::Extent span{offset, probe.length()};
  const PageRests now = co_await rests_on_disk(file, span, room);
  const io::RingFile disk = read_back_of(file);
  bool right = true;
  std::uint64_t at = offset;
  for (std::size_t i = 0; i < probe.count(); ++i) {
    const io::Extent chunk{at, probe.piece_length(i)};
    at += chunk.length;
    if (verdicts.at(i) != kPresent) continue;
    const io::Digest found = co_await digest_on_disk(disk, chunk, room);
    const bool changed_others =
        (i == 0 && now.before != before.before) || (i + 1 == probe.count() && now.behind != before.behind);
    if (found == probe.digest(i) && !changed_others) {
      file.add(chunk.offset, chunk.length, probe.digest(i));
      target_.bytes_ += chunk.length;
      continue;
    }
    if (found != probe.digest(i)) target_.note_misread(file.subject);
    verdicts.set(i, kMissing);
    right = false;
  }
  co_return right;
}

}  // namespace rdcp::tree
