// Baseline x86-64 code is half as fast as AVX2 or AVX-512, which the library's dispatcher finds through
// cpuid.
#include <xxh_x86dispatch.h>

#include "io/digest_code.h"

namespace rdcp::io {

XXH128_hash_t xxh3_128(std::span<const std::byte> bytes) {
  return XXH3_128bits_dispatch(bytes.data(), bytes.size());
}

void xxh3_128_update(XXH3_state_t& state, std::span<const std::byte> bytes) {
  XXH3_128bits_update_dispatch(&state, bytes.data(), bytes.size());
}

XXH64_hash_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits_dispatch(bytes.data(), bytes.size());
}

}  // namespace rdcp::io
