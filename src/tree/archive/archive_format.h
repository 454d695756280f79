// The writer and the reader of archive chunks agree on these, beyond the pax format itself.
#pragma once

#include <archive_entry.h>

#include <cstddef>
#include <memory>

namespace rdcp::tree {

inline constexpr std::size_t kTarBlockBytes = 512;
// Two blocks of zeros end an archive.
inline constexpr std::size_t kTarEndBytes = 2 * kTarBlockBytes;
// The bytes of each entry in the table after the archive, and of the number of entries after that.
inline constexpr std::size_t kNanosecondsBytes = 4;
// Stands for the path of the root of a copy, which is empty.
inline constexpr char kRootPath[] = ".";
// Marks a FIFO that is really a socket.
inline constexpr char kSocketXattr[] = "rdcp.socket";
// Marks an entry with metadata only (Entry::attributes_only).
inline constexpr char kAttributesXattr[] = "rdcp.attributes";
// libarchive (3.6) does not read a longer pax header than this.
inline constexpr std::size_t kPaxRecordsMax = 1 << 20;

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using OwnedEntry = std::unique_ptr<archive_entry, FreeEntry>;

}  // namespace rdcp::tree
