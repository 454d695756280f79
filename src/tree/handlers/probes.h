// Questions about large files: which pieces of a file the target has, in an old file or in what an earlier
// run wrote.
#pragma once

#include <cstddef>
#include <span>

#include "io/step.h"
#include "tree/handlers/block_probes.h"
#include "tree/handlers/chunk_probes.h"
#include "tree/pages/probe.h"
#include "tree/session/file_read_back.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread. `room`, and the slot, are memory that may be read into.
class Probes {
 public:
  // context, writer, read_back: outlive this.
  Probes(TargetContext& context, FileWriter& writer, FileReadBack& read_back)
      : context_(context),
        read_back_(read_back),
        blocks_(context, writer, read_back),
        chunks_(context, writer, read_back) {}

  // Compares an old file with digests of the new one, and takes over what is equal.
  io::Step<net::AckStatus> probe(const net::Frame& frame, std::span<const std::byte> payload,
                                 std::span<std::byte> room, net::Verdicts& verdicts);
  // Says what of a file an earlier run has written. What was written before this boot, or is to be verified,
  // is read first; what cannot be read, or is not as it was recorded, is not there.
  io::Step<net::AckStatus> ask(const net::Frame& frame, std::span<std::byte> slot, net::Verdicts& verdicts);

 private:
  TargetFileRef find(const net::Frame& frame, const Probe& probe);
  io::Step<bool> confirm(TargetFile& file, io::Extent extent, std::span<std::byte> slot);

  TargetContext& context_;
  FileReadBack& read_back_;
  BlockProbes blocks_;
  ChunkProbes chunks_;
};

}  // namespace rdcp::tree
