// Archive chunks: a whole, self-contained pax archive in one slot, written and read by libarchive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "io/result.h"
#include "tree/admitted_names.h"
#include "tree/entry.h"

namespace rdcp::tree {

// Packs entries into a slot. One archive at a time: begin, add..., finish. Reusable; not thread-safe.
// Format: tar. Plain entries in GNU's form; what it cannot say (xattrs, ACLs, holes, odd times and ids) in
// pax, with hdrcharset=BINARY (byte-exact names), xattrs as LIBARCHIVE.xattr.*, ACLs as SCHILY.acl.*; a
// socket, for which tar has no type, is a FIFO marked by the pseudo-xattr "rdcp.socket"; what has metadata
// only is marked by "rdcp.attributes". Behind the archive's end, where tar stops reading, stand the
// nanoseconds of each entry's mtime (u32, little-endian) and their number (u32): a pax header for each would
// cost 1 KiB an entry and most of the time of packing.
class ArchiveWriter {
 public:
  ArchiveWriter();
  ~ArchiveWriter();

  void begin(std::span<std::byte> slot);
  // Adds an entry; content is the whole content of a file of content.size() == entry.size bytes (holes as
  // zeros where entry.data tells data from holes), empty for all else. False when it does not fit any more:
  // then nothing of it was added and the archive is as before.
  io::Result<bool> add(const Entry& entry, std::span<const std::byte> content);
  // Ends the archive; its length in bytes. Always fits.
  io::Result<std::size_t> finish();
  std::size_t entries() const;

  // Upper bound of what add() takes of a slot for this entry.
  static std::size_t bound(const Entry& entry);
  // What finish() takes.
  static constexpr std::size_t kTrailerBytes = 1024 + 4;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads one archive chunk from memory. What it holds is data from the world: every error is a protocol Error,
// entries of unknown type, paths and hard links that are not admitted, and sizes beyond the chunk included.
class ArchiveReader {
 public:
  struct Block {
    std::span<const std::byte> bytes;  // points into the chunk
    std::uint64_t offset = 0;
  };

  // names: outlives this.
  explicit ArchiveReader(const AdmittedNames& names);
  ~ArchiveReader();

  io::Result<void> open(std::span<const std::byte> chunk);
  // Fills entry (reusing its memory); false at the end of the archive. Content not read is skipped.
  io::Result<bool> next(Entry& entry);
  // The next piece of the current file's content; none at its end. Pieces come in order and do not overlap;
  // between them are holes.
  io::Result<std::optional<Block>> next_block();

 private:
  struct State;
  const AdmittedNames& names_;
  std::unique_ptr<State> state_;
};

}  // namespace rdcp::tree
