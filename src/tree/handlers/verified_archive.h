// Archive chunks with --verify: their files are read back before they get their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "io/step.h"
#include "tree/handlers/small_files.h"

namespace rdcp::tree {

// One for each slot. An archive is taken in groups of entries: the contents of a group's files are written,
// all of them are read back at once, then the entries are put in place, in their order.
class VerifiedArchive {
 public:
  // context, files: outlive this; context has a ReadBack.
  VerifiedArchive(TargetContext& context, SmallFiles& files);

  // Answers bad_digest where something was read back other than it came: the source sends the archive again.
  io::Step<net::AckStatus> unpack(std::span<const std::byte> chunk);

 private:
  struct Part {
    Entry entry;
    std::optional<TargetTree::WrittenFile> written;  // only files have it
    ReadBackCheck check;
  };
  bool write_some();
  bool settle(const Entry& entry, const io::Result<void>& put);
  net::AckStatus name_written();

  TargetContext& context_;
  SmallFiles& files_;
  ArchiveReader reader_;
  bool over_ = false;       // the reader is at its end
  std::deque<Part> parts_;  // they stay where they are while they are read back
  ReadBackGroup group_;
  std::uint64_t named_bytes_ = 0;  // of the archive that is being unpacked
  bool all_put_ = true;            // of the entries that were taken up so far
};

}  // namespace rdcp::tree
