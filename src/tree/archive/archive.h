// Writes and reads archive chunks with libarchive. Each is a complete pax archive of its own in one slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "io/result.h"
#include "tree/guards/admitted_names.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// Packs entries into a slot, one archive at a time: begin, add..., finish. Reusable; not thread-safe. The
// format is tar. Plain entries have GNU's form, others (with xattrs, ACLs, holes, odd times or ids) pax form
// with hdrcharset=BINARY (byte-exact names), xattrs as LIBARCHIVE.xattr.*, and ACLs as SCHILY.acl.*. tar has
// no type for a socket, so it is a FIFO with the pseudo-xattr "rdcp.socket"; an entry with metadata only has
// "rdcp.attributes". After the archive's end, where tar stops reading, come the nanoseconds of each entry's
// mtime (u32, little-endian) and their number (u32): a pax header for each would cost 1 KiB an entry and most
// of the time of packing.
class ArchiveWriter {
 public:
  ArchiveWriter();
  ~ArchiveWriter();

  void begin(std::span<std::byte> slot);
  // Adds an entry. content is the whole content of a file, entry.size bytes, with holes as zeros (entry.data
  // tells data from holes); it is empty for all else. Returns false if the entry does not fit any more; the
  // archive is then unchanged.
  io::Result<bool> add(const Entry& entry, std::span<const std::byte> content);
  // Ends the archive and returns its length in bytes. This always fits.
  io::Result<std::size_t> finish();
  std::size_t entries() const;

  // Upper bound of the bytes of a slot that add() takes for this entry.
  static std::size_t bound(const Entry& entry);
  // The bytes that finish() takes.
  static constexpr std::size_t kTrailerBytes = 1024 + 4;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads one archive chunk from memory. It comes from a peer, so every error is a protocol Error, also an
// entry of unknown type, a path or hard link that is not admitted, and a size beyond the chunk.
class ArchiveReader {
 public:
  struct Block {
    std::span<const std::byte> bytes;  // points into the chunk
    std::uint64_t offset = 0;
  };

  // names must outlive this.
  explicit ArchiveReader(const AdmittedNames& names);
  ~ArchiveReader();

  io::Result<void> open(std::span<const std::byte> chunk);
  // Fills entry, reusing its memory. Returns false at the end of the archive. Content that was not read is
  // skipped.
  io::Result<bool> next(Entry& entry);
  // Returns the next piece of the current file's content, or nothing at its end. Pieces come in order and do
  // not overlap; between them are holes.
  io::Result<std::optional<Block>> next_block();

 private:
  struct State;
  const AdmittedNames& names_;
  std::unique_ptr<State> state_;
};

}  // namespace rdcp::tree
