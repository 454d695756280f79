// Baseline x86-64 code, which the library has, is half as fast as AVX2 or AVX-512. The library's own
// dispatcher is not in its static form.
#include "io/digest_code.h"
#include "io/digest_vector.h"

namespace rdcp::io {
namespace {

const VectorCode kBaseline = {
    [](const void* bytes, size_t count) -> VectorSum {
      const XXH128_hash_t hash = XXH3_128bits(bytes, count);
      return {hash.low64, hash.high64};
    },
    [](void* state, const void* bytes, size_t count) {
      XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, count);
    },
    [](const void* bytes, size_t count) -> uint64_t { return XXH3_64bits(bytes, count); }};

const VectorCode& code_of_this_processor() {
  static const VectorCode& code = __builtin_cpu_supports("avx512f") ? kAvx512Code
                                  : __builtin_cpu_supports("avx2")  ? kAvx2Code
                                                                    : kBaseline;
  return code;
}

}  // namespace

XXH128_hash_t xxh3_128(std::span<const std::byte> bytes) {
  const VectorSum sum = code_of_this_processor().hash_128(bytes.data(), bytes.size());
  return {.low64 = sum.low, .high64 = sum.high};
}

void xxh3_128_update(XXH3_state_t& state, std::span<const std::byte> bytes) {
  code_of_this_processor().update_128(&state, bytes.data(), bytes.size());
}

XXH64_hash_t xxh3_64(std::span<const std::byte> bytes) {
  return code_of_this_processor().hash_64(bytes.data(), bytes.size());
}

}  // namespace rdcp::io
