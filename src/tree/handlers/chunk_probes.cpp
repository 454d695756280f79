#include "tree/handlers/chunk_probes.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace rdcp::tree {

using net::AckStatus;
using IndexState = BasisFile::IndexState;

namespace {

// Each index takes 16 MiB of memory, whatever a source asks for.
constexpr int kIndexesMax = 4;

// Chunks begin and end anywhere, which O_DIRECT does not allow, and to write a page in both ways at a time
// would lose what one of them wrote. Everything of a file of which chunks are asked for is written through
// the page cache from then on.
void write_buffered(TargetFile& file) {
  if (!file.file.direct || file.buffered.exchange(true)) return;
  // Where the flag cannot be cleared the next write fails, and is reported.
  (void)::fcntl(file.fd(), F_SETFL, ::fcntl(file.fd(), F_GETFL) & ~O_DIRECT);
}

}  // namespace

io::Step<AckStatus> ChunkProbes::probe(TargetFileRef file, ProbedSpan chunks, std::span<std::byte> room) {
  write_buffered(*file);
  const bool indexed = co_await make_index(*file, chunks.probe.size(), room);
  if (!indexed) co_return context_.giving_up() ? AckStatus::refused : AckStatus::done;
  AckStatus status = AckStatus::refused;
  if (context_.read_back == nullptr) {
    status = co_await take_all(*file, chunks, room);
  } else {
    status = co_await take_and_check(*file, chunks, room);
  }
  co_return status;
}

// With --verify. Spans meet within pages. To know that a page is still right when the second span has been
// written to it, nobody else may write to it meanwhile, so slots take turns.
io::Step<AckStatus> ChunkProbes::take_and_check(TargetFile& file, ProbedSpan chunks,
                                                std::span<std::byte> room) {
  const auto others_turn = [&] {
    const std::lock_guard lock(file.mutex);
    return std::exchange(file.takes_chunks, true);
  };
  while (others_turn()) {
    if (context_.giving_up()) co_return AckStatus::refused;
    co_await context_.turns->wait();
  }
  const PageRests before = co_await read_back_.rests(file, chunks.extent(), room);
  const AckStatus status = co_await take_all(file, chunks, room);
  if (status == AckStatus::done) co_await read_back_.check_chunks(file, chunks, before, room);
  {
    const std::lock_guard lock(file.mutex);
    file.takes_chunks = false;
  }
  context_.wake_waiting();
  co_return status;
}

// Copies the chunks that the old file has to where they belong; without --verify they count at once.
io::Step<AckStatus> ChunkProbes::take_all(TargetFile& file, ProbedSpan chunks, std::span<std::byte> room) {
  const Probe& probe = chunks.probe;
  std::uint64_t at = chunks.offset;
  for (std::size_t i = 0; i < probe.count() && !context_.giving_up(); ++i) {
    const io::Extent to{at, probe.piece_length(i)};
    at += to.length;
    const io::Digest digest = probe.digest(i);
    const auto from = file.old->index->find(digest, to.length);
    if (!from) continue;
    const AckStatus taken = co_await take(file, *from, to, digest, room);
    if (taken == AckStatus::refused) co_return taken;
    if (taken != AckStatus::done) continue;
    set_verdict(chunks.verdicts, i, PieceVerdict::present);
    if (context_.read_back != nullptr) continue;
    file.add(to.offset, to.length, digest);
    context_.session.tally.bytes += to.length;
  }
  co_return context_.giving_up() ? AckStatus::refused : AckStatus::done;
}

// The first slot that needs the index makes it; the others wait. Returns false if it could not be made, so
// that nothing is found.
io::Step<bool> ChunkProbes::make_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room) {
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
    context_.session.streams.wake_all();
    co_return made;
  }
  while (now == IndexState::in_the_making && !context_.giving_up()) {
    co_await context_.turns->wait();
    now = state();
  }
  co_return now == IndexState::ready&& old.index->average() == average;
}

io::Step<bool> ChunkProbes::fill_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room) {
  BasisFile& old = *file.old;
  std::atomic<int>& indexes = context_.session.files.indexes;
  old.index_leave =
      std::shared_ptr<void>(&indexes, [](void* count) { --*static_cast<std::atomic<int>*>(count); });
  if (++indexes > kIndexesMax) {
    old.index_leave.reset();
    co_return false;
  }
  old.index.emplace(average);
  const std::uint64_t piece = bytes_at_once(room.size(), old.file.resident, io::kPageBytes);
  for (std::uint64_t at = 0; at < old.size() && !old.index->is_full() && !context_.giving_up();) {
    const std::size_t wanted = std::min(piece, old.size() - at);
    const AlignedRead from(old.file, at, wanted);
    const io::IoResult read = co_await context_.ring->read(old.file, room.first(from.bytes), from.offset);
    const std::span<std::byte> bytes = from.wanted_of(room, read.bytes, wanted);
    old.index->add(bytes);
    at += bytes.size();
    if (bytes.size() < wanted) break;
  }
  old.index->finish();
  co_return true;
}

// Reads a chunk of the old file once more, and writes it as it comes: whether it is the right one shows at
// its end, and if it is not, the source sends all of it. done: taken; unsupported: not.
io::Step<AckStatus> ChunkProbes::take(TargetFile& file, std::uint64_t from, io::Extent to, io::Digest digest,
                                      std::span<std::byte> room) {
  BasisFile& old = *file.old;
  const std::uint64_t piece = bytes_at_once(room.size(), true, 1);
  io::RunningDigest running;
  for (std::uint64_t done = 0; done < to.length;) {
    const std::size_t wanted = std::min(piece, to.length - done);
    const AlignedRead where(old.file, from + done, wanted);
    const io::IoResult read = co_await context_.ring->read(old.file, room.first(where.bytes), where.offset);
    const std::span<const std::byte> bytes = where.wanted_of(room, read.bytes, wanted);
    if (bytes.size() < wanted) co_return AckStatus::unsupported;
    running.add(bytes);
    io::RingFile place = file.place();
    const RegisteredFiles::Use use = context_.files->find(file.serial, place);
    const io::IoResult written = co_await context_.ring->write(place, bytes, to.offset + done);
    if (writer_.failed_to_write(file, written, bytes.size())) co_return AckStatus::refused;
    done += wanted;
  }
  co_return running.finish() == digest ? AckStatus::done : AckStatus::unsupported;
}

}  // namespace rdcp::tree
