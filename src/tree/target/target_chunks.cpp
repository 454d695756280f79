// Content-defined chunks at the target: those that the old file has elsewhere are copied to where they
// belong.
#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "tree/pages/probe.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using net::AckStatus;
using IndexState = BasisFile::IndexState;

namespace {

// Memory of 16 MiB each, whatever a source asks for.
constexpr int kIndexesMax = 4;

// Chunks begin and end anywhere, and O_DIRECT does not take them; to write a page both ways at a time would
// lose what one of them wrote. All that lies where chunks are asked for is written after this.
void write_buffered(TargetFile& file) {
  if (!file.file.direct || file.buffered.exchange(true)) return;
  // Where it stays on, the next write fails and is told.
  (void)::fcntl(file.fd(), F_SETFL, ::fcntl(file.fd(), F_GETFL) & ~O_DIRECT);
}

}  // namespace

io::Step<AckStatus> TargetWorker::probe_chunks(const net::Frame& frame, const Probe& probe,
                                               TargetFileRef file, std::span<std::byte> room,
                                               net::Verdicts& verdicts) {
  write_buffered(*file);
  const bool indexed = co_await make_index(*file, probe.size(), room);
  if (!indexed) co_return giving_up() ? AckStatus::refused : AckStatus::done;
  if (read_back_ == nullptr) {
    const AckStatus status = co_await take_chunks(*file, probe, frame.offset, room, verdicts);
    co_return status;
  }
  // Spans meet within pages. To know that a page is still right when the second one has been written to it,
  // nobody else may write to it meanwhile.
  const auto others_turn = [&] {
    const std::lock_guard lock(file->mutex);
    return std::exchange(file->takes_chunks, true);
  };
  while (others_turn()) {
    if (giving_up()) co_return AckStatus::refused;
    co_await turns_->wait();
  }
  const io::Extent span{frame.offset, probe.length()};
  const PageRests before = co_await rests_on_disk(*file, span, room);
  const AckStatus status = co_await take_chunks(*file, probe, frame.offset, room, verdicts);
  if (status == AckStatus::done) {
    co_await read_back_chunks(*file, probe, frame.offset, before, room, verdicts);
  }
  {
    const std::lock_guard lock(file->mutex);
    file->takes_chunks = false;
  }
  next_turn();
  co_return status;
}

// Those that the old file has: to where they belong, and into the account, if they need not be read back.
io::Step<AckStatus> TargetWorker::take_chunks(TargetFile& file, const Probe& probe, std::uint64_t offset,
                                              std::span<std::byte> room, net::Verdicts& verdicts) {
  std::uint64_t at = offset;
  for (std::size_t i = 0; i < probe.count() && !giving_up(); ++i) {
    const io::Extent to{at, probe.piece_length(i)};
    at += to.length;
    const io::Digest digest = probe.digest(i);
    const auto from = file.old->index->find(digest, to.length);
    if (!from) continue;
    const AckStatus taken = co_await take_chunk(file, *from, to, digest, room);
    if (taken == AckStatus::refused) co_return taken;
    if (taken != AckStatus::done) continue;
    verdicts.set(i, static_cast<std::uint8_t>(PieceVerdict::present));
    if (read_back_ != nullptr) continue;
    file.add(to.offset, to.length, digest);
    target_.bytes_ += to.length;
  }
  co_return giving_up() ? AckStatus::refused : AckStatus::done;
}

// The first who wants it makes it, the others wait. False: there is none, and so nothing is found.
io::Step<bool> TargetWorker::make_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room) {
  BasisFile& old = *file.old;
  const auto state = [&] {
    const std::lock_guard lock(file.mutex);
    const IndexState now = old.index_state;
    if (now == IndexState::none) old.index_state = IndexState::in_the_making;
    return now;
  };
  IndexState now = state();
  if (now == IndexState::none) {
    const bool made = co_await fill_index(file, average, room);
    {
      const std::lock_guard lock(file.mutex);
      old.index_state = made ? IndexState::ready : IndexState::given_up;
    }
    target_.streams_.wake_all();
    co_return made;
  }
  while (now == IndexState::in_the_making && !giving_up()) {
    co_await turns_->wait();
    now = state();
  }
  co_return now == IndexState::ready&& old.index->average() == average;
}

io::Step<bool> TargetWorker::fill_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room) {
  BasisFile& old = *file.old;
  old.index_leave = std::shared_ptr<void>(&target_.chunk_indexes_,
                                          [](void* count) { --*static_cast<std::atomic<int>*>(count); });
  if (++target_.chunk_indexes_ > kIndexesMax) {
    old.index_leave.reset();
    co_return false;
  }
  old.index.emplace(average);
  const std::uint64_t piece = bytes_at_once(room.size(), old.file.resident, io::kPageBytes);
  for (std::uint64_t at = 0; at < old.size() && !old.index->is_full() && !giving_up();) {
    const std::size_t wanted = std::min(piece, old.size() - at);
    const AlignedRead from(old.file, at, wanted);
    const io::IoResult read = co_await ring_->read(old.file, room.first(from.bytes), from.offset);
    const std::span<std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    old.index->add(bytes);
    at += bytes.size();
    if (bytes.size() < wanted) break;
  }
  old.index->finish();
  co_return true;
}

// Reads a chunk of the old file once more, and writes it as it comes: whether it is the right one shows at
// its end, and if not all of it is sent. done: taken; unsupported: not.
io::Step<AckStatus> TargetWorker::take_chunk(TargetFile& file, std::uint64_t from, const io::Extent& to,
                                             const io::Digest& digest, std::span<std::byte> room) {
  BasisFile& old = *file.old;
  const std::uint64_t piece = bytes_at_once(room.size(), true, 1);
  io::RunningDigest running;
  for (std::uint64_t done = 0; done < to.length;) {
    const std::size_t wanted = std::min(piece, to.length - done);
    const AlignedRead where(old.file, from + done, wanted);
    const io::IoResult read = co_await ring_->read(old.file, room.first(where.bytes), where.offset);
    const std::span<std::byte> bytes = where.wanted_of(room, read.bytes, wanted);
    if (bytes.size() < wanted) co_return AckStatus::unsupported;
    running.add(bytes);
    io::RingFile place = file.place();
    const RegisteredFiles::Use use = files_->find(file.id, place);
    const io::IoResult written = co_await ring_->write(place, bytes, to.offset + done);
    if (failed_to_write(file, written, bytes.size())) co_return AckStatus::refused;
    done += wanted;
  }
  co_return running.finish() == digest ? AckStatus::done : AckStatus::unsupported;
}

}  // namespace rdcp::tree
