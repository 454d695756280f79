#include "tree/plan/file_pieces.h"

#include <algorithm>
#include <bit>

#include "io/arena.h"
#include "tree/pages/chunker.h"

namespace rdcp::tree {

namespace {

// As many spans of a file as keep both sides busy, as far as it has so many blocks.
constexpr std::uint64_t kSpansWanted = 32;
constexpr std::uint64_t kBlocksMin = 8;

// At least this many differing blocks at the end of a span are taken for blocks that have moved.
constexpr std::size_t kMovedMin = 8;
// Spans of chunks of which the target has none, before that is given up.
constexpr unsigned kMissesMax = 2;

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

// Sorts, and makes one of those that lie side by side.
void join_neighbours(std::vector<io::Extent>& extents) {
  std::ranges::sort(extents, {}, &io::Extent::offset);
  std::vector<io::Extent> joined;
  for (const io::Extent& extent : extents) {
    if (!joined.empty() && joined.back().offset + joined.back().length == extent.offset) {
      joined.back().length += extent.length;
    } else {
      joined.push_back(extent);
    }
  }
  extents = std::move(joined);
}

}  // namespace

void FilePieces::begin(int fd, std::uint64_t size, bool sparse, bool by_kernel) {
  fd_ = fd;
  size_ = size;
  by_kernel_ = by_kernel;
  extents_.emplace(fd, size, sparse);
}

void FilePieces::ask(Spans spans, std::uint64_t block_bytes, bool compares) {
  block_bytes_ = block_bytes;
  if (block_bytes > 0) spans_ = spans;
  compares_ = compares;
}

std::optional<Piece> FilePieces::take(const Limits& limits) {
  if (const auto extent = next_extent(limits)) return Piece{*extent, Spans::none, by_kernel_};
  if (spans_ != Spans::none) {
    const Spans asked = spans_;
    if (const auto span = next_span()) return Piece{*span, asked, false};
  }
  exhausted_ = true;
  return std::nullopt;
}

void FilePieces::give_up() {
  returned_.clear();
  exhausted_ = true;
}

std::optional<io::Extent> FilePieces::next_extent(const Limits& limits) {
  const std::uint64_t most = by_kernel_ ? limits.by_kernel_bytes : limits.extent_bytes;
  if (!returned_.empty()) {
    io::Extent& back = returned_.back();
    const io::Extent extent{back.offset, std::min(back.length, most)};
    back.offset += extent.length;
    back.length -= extent.length;
    if (back.length == 0) returned_.pop_back();
    return extent;
  }
  if (spans_ != Spans::none) return std::nullopt;
  if (!is_stream_) return extents_->next(most);
  if (exhausted_) return std::nullopt;
  reading_ = true;
  return io::Extent{stream_bytes_, limits.extent_bytes};
}

std::uint64_t FilePieces::span_bytes() const {
  if (spans_ == Spans::ask) return kSpanPiecesMax * block_bytes_;
  const std::uint64_t blocks = size_ / kSpansWanted / block_bytes_;
  return std::clamp<std::uint64_t>(blocks, kBlocksMin, kSpanPiecesMax) * block_bytes_;
}

// The same at both ends of an index that is not to grow beyond bounds.
std::uint64_t FilePieces::chunk_average() const {
  constexpr std::uint64_t kChunksWanted = 1 << 18;
  const std::uint64_t average = std::bit_ceil(size_ / kChunksWanted);
  return std::clamp(average, std::max(block_bytes_ / 2, Chunker::kAverageMin), Chunker::kAverageMax);
}

std::optional<io::Extent> FilePieces::next_span() {
  // A file that is only compared needs no comparison after its first difference.
  if (differs_) return std::nullopt;
  if (spans_ == Spans::chunks) return next_chunks();
  const auto span = extents_->next(span_bytes());
  if (!span) return span;
  // Another file's first span is asked for alone: it tells whether the others are worth it.
  reading_ = spans_ == Spans::like;
  ++spans_out_;
  return span;
}

// One at a time: where it ends is where the next one begins.
std::optional<io::Extent> FilePieces::next_chunks() {
  if (to_chunk_.empty()) {
    const auto data = extents_->next(kWhole);
    if (!data) return std::nullopt;
    to_chunk_.push_back(*data);
  }
  reading_ = true;
  return to_chunk_.front();
}

void FilePieces::stream_read(std::size_t bytes, bool at_end) {
  reading_ = false;
  stream_bytes_ += bytes;
  exhausted_ = exhausted_ || at_end;
}

void FilePieces::chunks_cut(std::uint64_t bytes) {
  io::Extent& rest = to_chunk_.front();
  rest.offset += bytes;
  rest.length -= bytes;
  if (rest.length == 0) to_chunk_.erase(to_chunk_.begin());
  reading_ = false;
  if (chunks_given_up_) return_chunks();
}

void FilePieces::return_extent(const io::Extent& extent) {
  by_kernel_ = false;
  returned_.push_back(extent);
}

bool FilePieces::settle_span(Spans asked, std::span<const ProbedPiece> pieces, bool failed) {
  if (asked != Spans::chunks) --spans_out_;
  const bool any = std::ranges::any_of(pieces, &ProbedPiece::is_present);
  if (asked == Spans::like) {
    reading_ = false;
    spans_ = any ? Spans::probe : Spans::none;
  }
  if (!failed && !compares_) {
    if (asked == Spans::probe) pieces = keep_moved(pieces);
    return_missing(pieces);
    if (asked == Spans::chunks) judge_chunks(any);
  } else if (!failed) {
    differs_ = differs_ || !std::ranges::all_of(pieces, &ProbedPiece::is_present);
  }
  const bool begun = begin_chunks();
  return begun || !returned_.empty();
}

// Hands out missing extents at once, from the first one on, because then few of them wait, and they have just
// been read. Extents begin and end with pages.
void FilePieces::return_missing(std::span<const ProbedPiece> pieces) {
  const std::size_t first = returned_.size();
  for (const ProbedPiece& piece : pieces) {
    if (piece.is_present()) continue;
    const io::Extent extent = page_aligned(piece.extent, size_);
    io::Extent* last = returned_.size() > first ? &returned_.back() : nullptr;
    surplus_ += extent.length - piece.extent.length;
    if (last != nullptr && last->offset + last->length >= extent.offset) {
      surplus_ -= last->offset + last->length - extent.offset;
      last->length = extent.offset + extent.length - last->offset;
    } else {
      returned_.push_back(extent);
    }
  }
  std::reverse(returned_.begin() + static_cast<std::ptrdiff_t>(first), returned_.end());
}

// Keeps the pieces that may have moved, to be cut into content-defined chunks later. Returns the other
// pieces.
std::span<const ProbedPiece> FilePieces::keep_moved(std::span<const ProbedPiece> pieces) {
  const std::size_t moved = chunks_given_up_ ? 0 : moved_at_end(pieces);
  if (moved == 0) return pieces;
  const io::Extent& first = pieces[pieces.size() - moved].extent;
  const io::Extent& last = pieces.back().extent;
  spans_ = Spans::chunks;
  to_chunk_.push_back({first.offset, last.offset + last.length - first.offset});
  return pieces.first(pieces.size() - moved);
}

// Blocks that are still being compared may leave more to be cut, so this waits for them; then adjacent pieces
// are cut as one. Returns true if the cutting begins now.
bool FilePieces::begin_chunks() {
  if (spans_ != Spans::chunks || chunks_begun_) return false;
  reading_ = spans_out_ > 0;
  if (reading_) return false;
  chunks_begun_ = true;
  if (const auto rest = extents_->next(kWhole)) to_chunk_.push_back(*rest);
  join_neighbours(to_chunk_);
  return true;
}

// Whether the rest is worth being cut, after a span of chunks.
void FilePieces::judge_chunks(bool any) {
  if (any) chunk_hit_ = true;
  if (chunk_hit_ || ++chunk_misses_ < kMissesMax || spans_ != Spans::chunks) return;
  spans_ = Spans::none;
  chunks_given_up_ = true;
  if (!reading_) return_chunks();
}

// When none of it is being read.
void FilePieces::return_chunks() {
  for (const io::Extent& extent : to_chunk_) {
    returned_.push_back(page_aligned(extent, size_));
    surplus_ += returned_.back().length - extent.length;
  }
  to_chunk_.clear();
}

}  // namespace rdcp::tree
