// Large files with --verify: what was written to them is read back, from the disk wherever that can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/step.h"
#include "tree/pages/probe.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Neighbouring blocks of a probe, and what is said of them.
struct ProbedBlocks {
  const Probe& probe;
  net::Verdicts& verdicts;
  std::uint64_t offset;  // the probe's offset in the file
  std::size_t first;
  std::size_t behind;  // one past the last
};

// A probe, where it lies in its file, and what is said of its pieces.
struct ProbedSpan {
  const Probe& probe;
  net::Verdicts& verdicts;
  std::uint64_t offset;  // the probe's offset in the file
  io::Extent extent() const { return {offset, probe.length()}; }
};

// The bytes beside an extent in the pages that it begins and ends in.
struct PageRests {
  io::Digest before;
  io::Digest behind;
};

// Belongs to one worker and its thread. Nothing but file() is asked of it without --verify. `room` is memory
// that may be read into.
class FileReadBack {
 public:
  explicit FileReadBack(TargetContext& context) : context_(context) {}

  // How a large file is read from its disk, whatever it was opened for.
  io::RingFile file(TargetFile& file);
  // Reads a data chunk back into its slot. Answers bad_digest where it is not what came: the source sends it
  // again.
  io::Step<net::AckStatus> check(TargetFile& file, const net::Frame& frame, std::span<std::byte> slot);
  // Reads back the blocks that count as present: they were taken over, or stay where they are. A block that
  // the disk has otherwise counts as missing after this, and is sent.
  io::Step<bool> check_blocks(TargetFile& file, ProbedBlocks blocks, std::span<std::byte> room);
  io::Step<PageRests> rests(TargetFile& file, io::Extent extent, std::span<std::byte> room);
  // The same for chunks, which it adds to the file's account. Around the first and the last of them, the rest
  // of their pages was written once more: if that is not what it was `before`, these chunks are missing, too.
  io::Step<bool> check_chunks(TargetFile& file, ProbedSpan chunks, PageRests before,
                              std::span<std::byte> room);

 private:
  io::Step<io::Digest> digest(io::RingFile disk, io::Extent extent, std::span<std::byte> room);

  TargetContext& context_;
};

}  // namespace rdcp::tree
