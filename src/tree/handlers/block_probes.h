// Blocks of large files that stand where the old file has them: they are compared, and taken over.
#pragma once

#include <cstddef>
#include <span>

#include "io/step.h"
#include "tree/handlers/file_writer.h"
#include "tree/pages/probe.h"
#include "tree/session/file_read_back.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread.
class BlockProbes {
 public:
  // context, writer, read_back: outlive this.
  BlockProbes(TargetContext& context, FileWriter& writer, FileReadBack& read_back)
      : context_(context), writer_(writer), read_back_(read_back) {}

  // Compares the old file's blocks with the digests of the new one's, and takes over those that are equal.
  // Works to its end also where the stream is lost meanwhile: what is taken over counts, and will be asked
  // again.
  io::Step<net::AckStatus> probe(TargetFileRef file, ProbedSpan probed, std::span<std::byte> room);

 private:
  void compare(const TargetFile& file, const ProbedBlocks& blocks, std::span<const std::byte> bytes);
  io::Step<bool> take_over(TargetFile& file, ProbedBlocks blocks, std::span<std::byte> bytes);
  void count(TargetFile& file, const ProbedBlocks& blocks);

  TargetContext& context_;
  FileWriter& writer_;
  FileReadBack& read_back_;
};

}  // namespace rdcp::tree
