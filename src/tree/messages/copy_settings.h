// The settings of a copy that both sides must know.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "io/file.h"
#include "io/range.h"
#include "io/ring.h"
#include "tree/messages/sync_settings.h"
#include "tree/meta/metadata.h"

namespace rdcp::tree {

// The largest chunk of a job, and the longest time for which it may try to replace a lost stream.
inline constexpr std::uint32_t kChunkBytesMax = 16 << 20;
inline constexpr std::uint32_t kRetrySecondsMax = 24 * 60 * 60;

struct CopySettings {
  io::Within<std::uint32_t, 0, kChunkBytesMax> chunk_bytes;  // size of a slot, a multiple of 4096
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  bool keep_owner = true;
  bool keep_xattrs = true;
  bool numeric_ids = false;
  bool delta = false;      // send only what the target's old version of a large file lacks
  bool inplace = false;    // write into the old version itself
  bool checksum = false;   // compare large files by content, span by span
  std::string congestion;  // TCP congestion control; empty for the system's default
  bool verify = false;     // the target reads back what it has written
  bool resume = true;      // go on with what an earlier run has left of a large file
  bool fsync = false;      // give nothing its final name before it is on the disk
  io::Within<std::uint32_t, 0, kRetrySecondsMax> retry_seconds;  // how long to try to replace a lost stream
  SyncSettings sync;
  auto fields() {
    return std::tuple_cat(std::tie(chunk_bytes, cache, ring, keep_owner, keep_xattrs, numeric_ids, delta,
                                   inplace, checksum, congestion, verify, resume, fsync, retry_seconds),
                          sync.fields());
  }

  MetadataPolicy policy() const { return {keep_owner, keep_xattrs, numeric_ids}; }
};

}  // namespace rdcp::tree
