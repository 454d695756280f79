// Puts the right checksum into each header of a tar archive that was changed: chance does not find it, and
// behind it is all the rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>

namespace rdcp::fuzz {

// Returns the number of entries. Bytes behind the last whole block stay as they are.
inline unsigned mend_checksums(std::span<std::byte> archive) {
  constexpr std::size_t kBlock = 512, kMagicAt = 257, kChecksumAt = 148, kChecksumBytes = 8, kTypeAt = 156;
  unsigned entries = 0;
  for (std::size_t at = 0; at + kBlock <= archive.size(); at += kBlock) {
    char* header = reinterpret_cast<char*>(archive.data()) + at;
    if (std::memcmp(header + kMagicAt, "ustar", 5) != 0) continue;
    std::fill_n(header + kChecksumAt, kChecksumBytes, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(header[i]);
    std::snprintf(header + kChecksumAt, kChecksumBytes, "%06o", sum);
    if (header[kTypeAt] != 'x' && header[kTypeAt] != 'g') ++entries;
  }
  return entries;
}

}  // namespace rdcp::fuzz
