// The last step of a large file: its digest is checked, it gets its metadata, and then its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tree/handlers/file_writer.h"
#include "tree/mirror/comparer.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread.
class FileCommitter {
 public:
  // context, writer, comparer: outlive this. comparer: null unless the job is a sync.
  FileCommitter(TargetContext& context, FileWriter& writer, Comparer* comparer);

  net::AckStatus commit(const net::Frame& frame, std::span<const std::byte> header);

 private:
  bool lacks_something(TargetFile& file, std::uint64_t size);
  io::Result<void> keep_equal(TargetFile& file, const Entry& entry, std::uint64_t size);
  io::Result<void> finish(TargetFile& file, const Entry& entry, std::uint64_t size);
  io::Result<void> finish_overwritten(TargetFile& file, const Entry& entry);
  io::Result<void> finish_new(TargetFile& file, const Entry& entry, std::uint64_t size);
  io::Result<void> set_metadata(int fd, const Entry& entry, const std::string& subject);

  TargetContext& context_;
  FileWriter& writer_;
  Comparer* const comparer_;
  ArchiveReader reader_;
};

}  // namespace rdcp::tree
