// Bytes as C libraries for cryptography take them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace rdcp::net {

inline const unsigned char* to_read(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* to_write(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

// Copies `bytes` into `to` piece by piece, and calls use(piece of `to`) for each while it is in the cache.
// Ends, and returns false, once use() does.
template <class Use>
bool copy_in_pieces(std::span<const std::byte> bytes, std::span<std::byte> to, const Use& use) {
  constexpr std::size_t kPieceBytes = 64 << 10;
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const std::span<std::byte> piece = to.subspan(at, std::min(kPieceBytes, bytes.size() - at));
    std::memcpy(piece.data(), bytes.data() + at, piece.size());
    if (!use(piece)) return false;
  }
  return true;
}

}  // namespace rdcp::net
