// What both sides must know of how to copy.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "io/file.h"
#include "io/ring.h"
#include "tree/metadata.h"
#include "tree/sync_settings.h"

namespace rdcp::tree {

struct CopySettings {
  std::uint32_t chunk_bytes = 0;  // size of a slot, a multiple of 4096
  io::CacheMode cache = io::CacheMode::automatic;
  io::RingChoice ring = io::RingChoice::automatic;
  bool keep_owner = true;
  bool keep_xattrs = true;
  bool numeric_ids = false;
  bool delta = false;               // of a large file only what its old one at the target lacks is sent
  bool inplace = false;             // it is written into the old one itself
  bool checksum = false;            // of large files: content decides what is equal, span by span
  std::string congestion;           // TCP congestion control; empty: the system's
  bool verify = false;              // the target reads back what it has written
  bool resume = true;               // go on with what an earlier run has left of a large file
  bool fsync = false;               // nothing has its final name before it is on the disk
  std::uint32_t retry_seconds = 0;  // how long a stream that is lost is tried to be had back
  SyncSettings sync;
  auto fields() {
    return std::tuple_cat(std::tie(chunk_bytes, cache, ring, keep_owner, keep_xattrs, numeric_ids, delta,
                                   inplace, checksum, congestion, verify, resume, fsync, retry_seconds),
                          sync.fields());
  }

  MetadataPolicy policy() const { return {keep_owner, keep_xattrs, numeric_ids}; }
};

}  // namespace rdcp::tree
