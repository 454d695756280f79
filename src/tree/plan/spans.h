// The questions of a source about a large file that the target may have in part, and the target's answers.
#pragma once

#include <cstdint>
#include <optional>

#include "io/digest.h"
#include "io/file.h"
#include "tree/pages/probe.h"

namespace rdcp::tree {

// How the source finds out which spans of a large file need not be sent.
enum class Spans : std::uint8_t {
  none,    // it does not: everything is sent
  probe,   // it sends digests of blocks, which the target compares with its BasisFile
  like,    // as probe, with a basis of another name, if the first span has anything in common with it
  chunks,  // it cuts spans by content, because blocks are no longer where they were
  ask,     // it asks what an earlier run has written, which the target knows
};

// The target's answer to a file's opening.
struct OpenAnswer {
  bool usable = false;
  bool one_worker = false;
  Spans spans = Spans::none;
  bool cannot_compare = false;    // the target has no file of its size
  bool written_in_place = false;  // --inplace, so the target may have data where SRC has a hole
};

// A piece of a span, and the target's verdict.
struct ProbedPiece {
  io::Extent extent;
  std::optional<io::Digest> digest;  // none for a piece of an ask, which counts on neither side
  PieceVerdict verdict = PieceVerdict::missing;
  bool is_present() const { return verdict == PieceVerdict::present; }
};

// An extent to be sent, or a span that the target is asked about first.
struct Piece {
  io::Extent extent;
  Spans spans = Spans::none;  // none if it is an extent
  bool by_kernel = false;     // an extent that is copied within the kernel (copy_range)
};

}  // namespace rdcp::tree
