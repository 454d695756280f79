// This file serves processors whose vector code (NEON, VSX) is chosen when the library is compiled.
#include "io/digest_code.h"

namespace rdcp::io {

XXH128_hash_t xxh3_128(std::span<const std::byte> bytes) {
  return XXH3_128bits(bytes.data(), bytes.size());
}

void xxh3_128_update(XXH3_state_t& state, std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state, bytes.data(), bytes.size());
}

XXH64_hash_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace rdcp::io
