// What both sides must know of how to copy.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "io/file.h"
#include "io/range.h"
#include "io/ring.h"
#include "tree/metadata.h"
#include "tree/sync_settings.h"

namespace rdcp::tree {

// No job has larger chunks, and none tries longer to have a lost stream back.
inline constexpr std::uint32_t kChunkBytesMax = 16 << 20;
inline constexpr std::uint32_t kRetrySecondsMax = 24 * 60 * 60;

struct CopySettings {
  io::Within<std::uint32_t, 0, kChunkBytesMax> chunk_bytes;  // size of a slot, a multiple of 4096
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  bool keep_owner = true;
  bool keep_xattrs = true;
  bool numeric_ids = false;
  bool delta = false;      // of a large file only what its old one at the target lacks is sent
  bool inplace = false;    // it is written into the old one itself
  bool checksum = false;   // of large files: content decides what is equal, span by span
  std::string congestion;  // TCP congestion control; empty: the system's
  bool verify = false;     // the target reads back what it has written
  bool resume = true;      // go on with what an earlier run has left of a large file
  bool fsync = false;      // nothing has its final name before it is on the disk
  io::Within<std::uint32_t, 0, kRetrySecondsMax>
      retry_seconds;  // how long a stream that is lost is tried to be had back
  SyncSettings sync;
  auto fields() {
    return std::tuple_cat(std::tie(chunk_bytes, cache, ring, keep_owner, keep_xattrs, numeric_ids, delta,
                                   inplace, checksum, congestion, verify, resume, fsync, retry_seconds),
                          sync.fields());
  }

  MetadataPolicy policy() const { return {keep_owner, keep_xattrs, numeric_ids}; }
};

}  // namespace rdcp::tree
