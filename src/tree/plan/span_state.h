// What a source knows of a large file of which the target may have something already.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/digest.h"
#include "io/file.h"
#include "tree/pages/probe.h"

namespace rdcp::tree {

// How it is found out what need not be sent of a large file, span by span.
enum class Spans : std::uint8_t {
  none,    // all is sent
  probe,   // by digests, which the target compares with the old file
  like,    // so too, if the first span of another file has anything in common with it
  chunks,  // cut by content instead: since some place, nothing has been where it was
  ask,     // the target knows what an earlier run has written
};

// What the target said to a file's opening.
struct OpenAnswer {
  bool usable = false;
  bool one_worker = false;
  Spans spans = Spans::none;
  bool cannot_compare = false;  // there is nothing of its size
};

// A piece of a span and what the target said of it.
struct ProbedPiece {
  io::Extent extent;
  std::optional<io::Digest> digest;  // none: asked for, so that it counts on neither side
  PieceVerdict verdict = PieceVerdict::missing;
};

// Part of a LargeFile, guarded by the plan.
struct SpanState {
  Spans spans = Spans::none;      // what its extents are handed out as
  std::uint64_t block_bytes = 0;  // of spans
  std::uint32_t spans_out = 0;    // of blocks, handed out and not settled
  std::uint64_t kept_bytes = 0;   // what the target had

  // Chunks: what is to be cut by content, in order, and whether that is of any use.
  std::vector<io::Extent> to_chunk;
  bool chunks_begun = false;
  bool chunk_hit = false;
  unsigned chunk_misses = 0;
  bool chunks_given_up = false;
  std::uint64_t surplus = 0;  // by how much extents are longer than the chunks that were missing

  // A file of equal size at the target: nothing is sent before its content is known to differ.
  bool compares = false;
  bool differs = false;
  bool was_compared = false;  // once is enough
};

}  // namespace rdcp::tree
