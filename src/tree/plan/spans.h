// What a source asks about a large file of which the target may have something, and what it is told.
#pragma once

#include <cstdint>
#include <optional>

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
  bool cannot_compare = false;    // there is nothing of its size
  bool written_in_place = false;  // so where SRC has a hole, the target may have data (--inplace)
};

// A piece of a span and what the target said of it.
struct ProbedPiece {
  io::Extent extent;
  std::optional<io::Digest> digest;  // none: asked for, so that it counts on neither side
  PieceVerdict verdict = PieceVerdict::missing;
  bool is_present() const { return verdict == PieceVerdict::present; }
};

// An extent to be sent, or a span that the target is asked about first.
struct Piece {
  io::Extent extent;
  Spans spans = Spans::none;  // none: an extent
  bool by_kernel = false;     // extent: to be copied within the kernel (copy_range)
};

}  // namespace rdcp::tree
