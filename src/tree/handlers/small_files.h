// Archive chunks: the small files, directories, links and special files that come many to a slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tree/session/target_context.h"

namespace rdcp::tree {

// Belongs to one worker and its thread.
class SmallFiles {
 public:
  // context: outlives this.
  explicit SmallFiles(TargetContext& context);

  // Puts all entries of an archive in place. What goes wrong with one of them is reported, and the others are
  // put in place all the same.
  net::AckStatus unpack(std::span<const std::byte> chunk);
  // Puts one entry in place; `content` stands at the content of a file.
  io::Result<void> put(const Entry& entry, ArchiveReader& content);
  // Notes whether an entry was put in place, and returns that. An entry that was not is reported, and no hard
  // link may be made to its name.
  bool settle(const Entry& entry, const io::Result<void>& put);

 private:
  io::Result<void> write_in_place(ArchiveReader& content) const;
  int write_in_order(std::span<const std::byte> bytes) const;

  TargetContext& context_;
  ArchiveReader reader_;
  Entry entry_;
};

}  // namespace rdcp::tree
