// Large files of which the target may have something: spans are handed out before extents.
#include <algorithm>
#include <bit>

#include "tree/pages/chunker.h"
#include "tree/pages/probe.h"
#include "tree/plan/plan.h"

namespace rdcp::tree {

namespace {

// As many spans of a file as keep both sides busy, as far as it has so many blocks.
constexpr std::uint64_t kSpansWanted = 32;
constexpr std::uint64_t kBlocksMin = 8;

// So many blocks at the end of a span that may have moved are taken for it.
constexpr std::size_t kMovedMin = 8;
// Spans of chunks of which the target has none, before that is given up.
constexpr unsigned kMissesMax = 2;

std::uint64_t span_bytes(const LargeFile& file) {
  if (file.spans == Spans::ask) return kSpanPiecesMax * file.block_bytes;
  const std::uint64_t blocks = file.size / kSpansWanted / file.block_bytes;
  return std::clamp<std::uint64_t>(blocks, kBlocksMin, kSpanPiecesMax) * file.block_bytes;
}

constexpr std::uint64_t kWhole = std::uint64_t{1} << 62;  // of an extent

io::Extent page_aligned(const io::Extent& extent, std::uint64_t size) {
  const std::uint64_t begin = extent.offset / io::kPageBytes * io::kPageBytes;
  const std::uint64_t end = std::min(size, io::round_up(extent.offset + extent.length, io::kPageBytes));
  return {begin, end - begin};
}

// How many of the last blocks may have moved.
std::size_t moved_at_end(std::span<const ProbedPiece> pieces) {
  const auto other = std::ranges::find_if(pieces.rbegin(), pieces.rend(), [](const ProbedPiece& piece) {
    return piece.verdict != PieceVerdict::moved;
  });
  const auto moved = static_cast<std::size_t>(other - pieces.rbegin());
  return moved >= kMovedMin ? moved : 0;
}

bool is_present(const ProbedPiece& piece) {
  return piece.verdict == PieceVerdict::present;
}

}  // namespace

// The same at both ends of an index that is not to grow beyond bounds.
std::uint64_t chunk_average(const LargeFile& file) {
  constexpr std::uint64_t kChunksWanted = 1 << 18;
  const std::uint64_t average = std::bit_ceil(file.size / kChunksWanted);
  return std::clamp(average, std::max(file.block_bytes / 2, Chunker::kAverageMin), Chunker::kAverageMax);
}

std::optional<io::Extent> Plan::next_span(LargeFile& file) {
  // What differs ends the comparison of a file that is only compared.
  if (file.differs) return std::nullopt;
  if (file.spans == Spans::chunks) return next_chunks(file);
  const auto span = file.extents->next(span_bytes(file));
  if (!span) return span;
  // Another file's first span is asked for alone: it tells whether the others are worth it.
  file.reading = file.spans == Spans::like;
  ++file.spans_out;
  return span;
}

// One at a time: where it ends is where the next one begins.
std::optional<io::Extent> Plan::next_chunks(LargeFile& file) {
  if (file.to_chunk.empty()) {
    const auto data = file.extents->next(kWhole);
    if (!data) return std::nullopt;
    file.to_chunk.push_back(*data);
  }
  file.reading = true;
  return file.to_chunk.front();
}

void Plan::chunks_read(LargeFile& file, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  io::Extent& rest = file.to_chunk.front();
  rest.offset += bytes;
  rest.length -= bytes;
  if (rest.length == 0) file.to_chunk.erase(file.to_chunk.begin());
  file.reading = false;
  if (file.chunks_given_up) return_chunks(file);
  wake_workers();
}

bool Plan::settle_span(Work& work, bool failed, std::span<const ProbedPiece> pieces) {
  std::lock_guard lock(mutex_);
  LargeFile& file = *work.file;
  file.failed = file.failed || failed;
  if (work.spans != Spans::chunks) --file.spans_out;
  const bool any = std::ranges::any_of(pieces, is_present);
  if (work.spans == Spans::like) {
    file.reading = false;
    file.spans = any ? Spans::probe : Spans::none;
  }
  if (!file.failed && !file.compares) {
    if (work.spans == Spans::probe) pieces = keep_moved(file, pieces);
    take_answers(file, pieces);
    if (work.spans == Spans::chunks) judge_chunks(file, any);
  } else if (!file.failed) {
    take_comparison(file, pieces);
  }
  begin_chunks(work.file);
  if (!file.returned.empty()) make_active(work.file);
  return settle_part(work);
}

// With the mutex held. What is missing is handed out at once, its first part first: so little of it waits,
// and it has just been read. Extents begin and end with pages.
void Plan::take_answers(LargeFile& file, std::span<const ProbedPiece> pieces) {
  const std::size_t first = file.returned.size();
  for (const ProbedPiece& piece : pieces) {
    if (is_present(piece)) {
      file.kept_bytes += piece.extent.length;
      if (piece.digest) file.digest.add(piece.extent.offset, piece.extent.length, *piece.digest);
      continue;
    }
    const io::Extent extent = page_aligned(piece.extent, file.size);
    io::Extent* last = file.returned.size() > first ? &file.returned.back() : nullptr;
    file.surplus += extent.length - piece.extent.length;
    if (last != nullptr && last->offset + last->length >= extent.offset) {
      file.surplus -= last->offset + last->length - extent.offset;
      last->length = extent.offset + extent.length - last->offset;
    } else {
      file.returned.push_back(extent);
    }
  }
  std::reverse(file.returned.begin() + static_cast<std::ptrdiff_t>(first), file.returned.end());
}

// With the mutex held: what may have moved is kept to be cut into chunks. The pieces that are left.
std::span<const ProbedPiece> Plan::keep_moved(LargeFile& file, std::span<const ProbedPiece> pieces) {
  const std::size_t moved = file.chunks_given_up ? 0 : moved_at_end(pieces);
  if (moved == 0) return pieces;
  const io::Extent& first = pieces[pieces.size() - moved].extent;
  const io::Extent& last = pieces.back().extent;
  file.spans = Spans::chunks;
  file.to_chunk.push_back({first.offset, last.offset + last.length - first.offset});
  return pieces.first(pieces.size() - moved);
}

// With the mutex held. Blocks that are still being compared may leave more to be cut, so it waits for them;
// then what lies side by side is cut as one.
void Plan::begin_chunks(const LargeFileRef& file) {
  if (file->spans != Spans::chunks || file->chunks_begun) return;
  file->reading = file->spans_out > 0;
  if (file->reading) return;
  file->chunks_begun = true;
  std::vector<io::Extent>& all = file->to_chunk;
  if (const auto rest = file->extents->next(kWhole)) {
    all.push_back(*rest);
  }
  std::ranges::sort(all, {}, &io::Extent::offset);
  std::vector<io::Extent> joined;
  for (const io::Extent& extent : all) {
    if (!joined.empty() && joined.back().offset + joined.back().length == extent.offset) {
      joined.back().length += extent.length;
    } else {
      joined.push_back(extent);
    }
  }
  all = std::move(joined);
  make_active(file);
}

// With the mutex held: whether the rest is worth being cut, after a span of chunks.
void Plan::judge_chunks(LargeFile& file, bool any) {
  if (any) file.chunk_hit = true;
  if (file.chunk_hit || ++file.chunk_misses < kMissesMax || file.spans != Spans::chunks) return;
  file.spans = Spans::none;
  file.chunks_given_up = true;
  if (!file.reading) return_chunks(file);
}

// With the mutex held, when none of it is being read.
void Plan::return_chunks(LargeFile& file) {
  for (const io::Extent& extent : file.to_chunk) {
    file.returned.push_back(page_aligned(extent, file.size));
    file.surplus += file.returned.back().length - extent.length;
  }
  file.to_chunk.clear();
}

// With the mutex held.
void Plan::take_comparison(LargeFile& file, std::span<const ProbedPiece> pieces) {
  for (const ProbedPiece& piece : pieces) {
    if (is_present(piece)) {
      file.kept_bytes += piece.extent.length;
      if (piece.digest) file.digest.add(piece.extent.offset, piece.extent.length, *piece.digest);
      continue;
    }
    file.differs = true;
  }
}

// With the mutex held. From its beginning, as if nothing had been done; it is not compared any more.
void Plan::open_again(const LargeFile& file) {
  auto anew = std::make_shared<LargeFile>();
  anew->item = file.item;
  anew->byte_stream = file.byte_stream;
  anew->readings = file.readings + (file.read_again ? 1 : 0);
  anew->was_compared = true;
  anew->sends_holes = file.sends_holes;
  waiting_.push_front(std::move(anew));
}

// With the mutex held.
void Plan::make_active(const LargeFileRef& file) {
  if (std::find(active_.begin(), active_.end(), file) == active_.end()) active_.push_front(file);
}

}  // namespace rdcp::tree
