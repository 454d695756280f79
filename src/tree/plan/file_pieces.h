// What of a large file is still to be handed out to workers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/file.h"
#include "tree/plan/spans.h"

namespace rdcp::tree {

// Extents to be sent and, where the target may have something of the file, spans to ask about before that.
// Life: begin() or begin_stream(), then ask(), then take() and what is told of pieces. Part of a
// FileTransfer, and guarded as it is.
class FilePieces {
 public:
  // The most that one extent has: sent as a chunk, or copied within the kernel.
  struct Limits {
    std::uint64_t extent_bytes = 0;
    std::uint64_t by_kernel_bytes = 0;
  };

  // A file without positions: one read at a time, as much as comes.
  void begin_stream() { is_stream_ = true; }
  // fd: outlives this. sparse: holes are not handed out.
  void begin(int fd, std::uint64_t size, bool sparse, bool by_kernel);
  // Extents for all of the file, holes too, because the target may have data where SRC has none.
  void cover_holes() { extents_.emplace(fd_, size_, false); }
  // compares: nothing is handed out to be sent; a difference ends it.
  void ask(Spans spans, std::uint64_t block_bytes, bool compares);

  // True: nothing can be taken before the piece that is being read or asked about has come back.
  bool waits() const { return reading_ && returned_.empty(); }
  // True: take() has no more, and had none left over.
  bool all_taken() const { return exhausted_ && returned_.empty(); }
  // The next piece; none when all is handed out.
  std::optional<Piece> take(const Limits& limits);
  // Nothing more is wanted of the file.
  void give_up();

  // A stream's read is over: so many bytes.
  void stream_read(std::size_t bytes, bool at_end);
  std::uint64_t stream_bytes() const { return stream_bytes_; }
  // A span of chunks has been cut, and is so long.
  void chunks_cut(std::uint64_t bytes);
  // The kernel cannot copy this extent, nor others of the file.
  void return_extent(const io::Extent& extent);
  // The target has answered to a span, or what was to be asked failed (no pieces, and give_up() comes next).
  // What is missing is handed out at once, before further spans. True: there is something to take again.
  bool settle_span(Spans asked, std::span<const ProbedPiece> pieces, bool failed);

  // A compared file is not what the target has.
  bool differs() const { return differs_; }
  // By how much extents are longer than what of them was missing.
  std::uint64_t surplus() const { return surplus_; }
  std::uint64_t block_bytes() const { return block_bytes_; }
  // Of content-defined chunks.
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
  bool reading_ = false;              // one piece at a time is out

  Spans spans_ = Spans::none;      // what is handed out before extents
  std::uint64_t block_bytes_ = 0;  // of spans
  std::uint32_t spans_out_ = 0;    // of blocks, handed out and not settled
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
