// Chunks of large files, cut by their content, that the old file has elsewhere: they are copied to where they
// belong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/step.h"
#include "tree/handlers/file_writer.h"
#include "tree/pages/probe.h"
#include "tree/session/file_read_back.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread.
class ChunkProbes {
 public:
  // context, writer, read_back: outlive this.
  ChunkProbes(TargetContext& context, FileWriter& writer, FileReadBack& read_back)
      : context_(context), writer_(writer), read_back_(read_back) {}

  // Looks up the chunks in an index of the old file, which the first question about a file makes.
  io::Step<net::AckStatus> probe(TargetFileRef file, ProbedSpan chunks, std::span<std::byte> room);

 private:
  io::Step<net::AckStatus> take_all(TargetFile& file, ProbedSpan chunks, std::span<std::byte> room);
  io::Step<net::AckStatus> take_and_check(TargetFile& file, ProbedSpan chunks, std::span<std::byte> room);
  io::Step<net::AckStatus> take(TargetFile& file, std::uint64_t from, io::Extent to, io::Digest digest,
                                std::span<std::byte> room);
  io::Step<bool> make_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room);
  io::Step<bool> fill_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room);

  TargetContext& context_;
  FileWriter& writer_;
  FileReadBack& read_back_;
};

}  // namespace rdcp::tree
