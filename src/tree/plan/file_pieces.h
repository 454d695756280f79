// The extents of a large file that are still to be handed out to workers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/file.h"
#include "tree/plan/spans.h"

namespace rdcp::tree {

// Extents to be sent and, where the target may have something of the file, spans to ask about before that.
// Life: begin() or begin_stream(), then ask(), then take() and the calls that report on pieces. Part of a
// FileTransfer, and guarded as it is.
class FilePieces {
 public:
  // The largest extent: one sent as a chunk, and one copied within the kernel.
  struct Limits {
    std::uint64_t extent_bytes = 0;
    std::uint64_t by_kernel_bytes = 0;
  };

  // Begins a file without positions: one read at a time, as much as comes.
  void begin_stream() { is_stream_ = true; }
  // Begins a regular file. fd outlives this. With `sparse` holes are not handed out.
  void begin(int fd, std::uint64_t size, bool sparse, bool by_kernel);
  // Has extents cover the whole file, holes too, because the target may have data where SRC has a hole.
  void cover_holes() { extents_.emplace(fd_, size_, false); }
  // Has the target asked about spans first. With `compares` nothing is handed out to be sent, and the first
  // difference ends the comparison.
  void ask(Spans spans, std::uint64_t block_bytes, bool compares);

  // Whether nothing can be taken before the piece that is being read or asked about has come back.
  bool waits() const { return reading_ && returned_.empty(); }
  // Whether take() has no more pieces, returned ones included.
  bool all_taken() const { return exhausted_ && returned_.empty(); }
  // Returns the next piece, or none when all are handed out.
  std::optional<Piece> take(const Limits& limits);
  // Hands out no more pieces of the file.
  void give_up();

  // Notes that a stream's read is over, and how many bytes it gave.
  void stream_read(std::size_t bytes, bool at_end);
  std::uint64_t stream_bytes() const { return stream_bytes_; }
  // Notes that a span of chunks has been cut, and how long it is.
  void chunks_cut(std::uint64_t bytes);
  // Takes back an extent that the kernel cannot copy; it will not be asked to copy others of the file.
  void return_extent(const io::Extent& extent);
  // Settles a span: the target has answered, or the question failed (no pieces, and give_up() comes next).
  // Missing extents are handed out at once, before further spans. Returns true if there is something to take
  // again.
  bool settle_span(Spans asked, std::span<const ProbedPiece> pieces, bool failed);

  // Whether a compared file differs from the target's.
  bool differs() const { return differs_; }
  // How many bytes extents have beyond what was missing.
  std::uint64_t surplus() const { return surplus_; }
  std::uint64_t block_bytes() const { return block_bytes_; }
  // The average length of content-defined chunks.
  std::uint64_t chunk_average() const;

 private:
  std::uint64_t span_bytes() const;
  std::optional<io::Extent> next_extent(const Limits& limits);
  std::optional<io::Extent> next_span();
  std::optional<io::Extent> next_chunks();
  void return_missing(std::span<const ProbedPiece> pieces);
  std::span<const ProbedPiece> keep_moved(std::span<const ProbedPiece> pieces);
  bool begin_chunks();
  void judge_chunks(bool any);
  void return_chunks();

  bool is_stream_ = false;
  std::uint64_t stream_bytes_ = 0;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  bool by_kernel_ = false;
  std::optional<io::DataExtents> extents_;
  std::vector<io::Extent> returned_;  // to be handed out again, in chunks, the last one first
  bool exhausted_ = false;            // take() had no more
  bool reading_ = false;              // a piece is out, and only one may be at a time

  Spans spans_ = Spans::none;      // what is handed out before extents
  std::uint64_t block_bytes_ = 0;  // the length of a span's blocks
  std::uint32_t spans_out_ = 0;    // spans of blocks handed out and not settled
  std::uint64_t surplus_ = 0;
  bool compares_ = false;
  bool differs_ = false;

  // Chunks: what is to be cut by content, in order, and whether that is of any use.
  std::vector<io::Extent> to_chunk_;
  bool chunks_begun_ = false;
  bool chunk_hit_ = false;
  unsigned chunk_misses_ = 0;
  bool chunks_given_up_ = false;
};

}  // namespace rdcp::tree
