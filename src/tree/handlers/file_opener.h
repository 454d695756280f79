// The first step of a large file: it is opened, with what the target has of it already.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tree/handlers/file_writer.h"
#include "tree/mirror/comparer.h"
#include "tree/resume/own_lock.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread.
class FileOpener {
 public:
  // context, writer, comparer: outlive this. comparer: null unless the job is a sync.
  FileOpener(TargetContext& context, FileWriter& writer, Comparer* comparer);

  net::AckStatus open(const net::Frame& frame, std::span<const std::byte> header);

 private:
  net::AckStatus add(TargetFileRef file, net::AckStatus status);
  net::AckStatus open_to_write(TargetFile& file, const Entry& entry, const net::Frame& frame);
  net::AckStatus open_to_compare(TargetFile& file, const Entry& entry);
  io::Result<void> open_place(TargetFile& file, const Entry& entry, const net::Frame& frame);
  io::Result<void> open_new(TargetFile& file, const Entry& entry, const net::Frame& frame);
  io::Result<bool> open_overwritten(TargetFile& file);
  io::Result<void> lock_overwritten(const TargetFile& file);
  bool lock_part(int journal);
  std::unique_ptr<BasisFile> find_basis(const TargetFile& file, const Entry& entry);
  io::Fd find_like(const TargetFile& file, const Entry& entry);

  TargetContext& context_;
  FileWriter& writer_;
  Comparer* const comparer_;
  LockPatience part_patience_;
  LockPatience in_place_patience_{std::chrono::seconds(3)};  // a mount may show this run a file twice
  ArchiveReader reader_;
};

}  // namespace rdcp::tree
