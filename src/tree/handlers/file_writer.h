// Bytes of large files: chunks that come as data, and extents that the kernel copies.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "io/step.h"
#include "tree/session/file_read_back.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread.
class FileWriter {
 public:
  // context, read_back: outlive this.
  FileWriter(TargetContext& context, FileReadBack& read_back) : context_(context), read_back_(read_back) {}

  // Writes a data chunk, which lies in the slot, to its file.
  io::Step<net::AckStatus> write(const net::Frame& frame, std::span<std::byte> slot);
  // Copies an extent within this host, where the source's descriptor is one of ours: clones the blocks, or
  // lets the kernel copy them.
  net::AckStatus copy_range(const net::Frame& frame);
  // Takes back what was counted of a frame that was answered on a stream that is lost, since it comes again.
  void take_back(const CachedReply& before);

  // Reports a write that failed or was cut short, once for each file. Returns false if it did not fail.
  bool failed_to_write(TargetFile& file, const io::IoResult& result, std::size_t wanted);
  // Removes the file's part: no later run is to go on with it.
  void drop_part(TargetFile& file);

 private:
  TargetFileRef find(const net::Frame& frame);
  io::Step<bool> wait_for_turn(TargetFile& file, std::uint64_t offset);
  net::AckStatus count(TargetFile& file, const net::Frame& frame);

  TargetContext& context_;
  FileReadBack& read_back_;
};

}  // namespace rdcp::tree
