#include "io/digest_vector.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "tests/io/temp_file.h"

namespace rdcp::io {
namespace {

// digest_of() takes the best of them; the others serve other processors.
struct Named {
  const char* name;
  const VectorCode& code;
  bool here;
};

const std::vector<Named>& all_codes() {
  static const std::vector<Named> codes = {
      {"AVX2", kAvx2Code, __builtin_cpu_supports("avx2") != 0},
      {"AVX-512", kAvx512Code, __builtin_cpu_supports("avx512f") != 0},
  };
  return codes;
}

TEST(DigestVector, EachCodeGivesWhatTheLibraryGives) {
  const std::vector<std::byte> bytes = test_bytes(1 << 20);
  std::size_t tried = 0;
  for (const auto& [name, code, here] : all_codes()) {
    if (!here) continue;
    ++tried;
    for (const std::size_t length : {0, 1, 16, 128, 240, 241, 1023, 1024, 1025, 4096, 65537, 1 << 20}) {
      const XXH128_hash_t wanted = XXH3_128bits(bytes.data(), length);
      const VectorSum sum = code.hash_128(bytes.data(), length);
      EXPECT_TRUE(sum.low == wanted.low64 && sum.high == wanted.high64) << name << ' ' << length;
      EXPECT_EQ(code.hash_64(bytes.data(), length), XXH3_64bits(bytes.data(), length))
          << name << ' ' << length;
    }
  }
  if (tried == 0) GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512";
}

// Its state is one that the library has made.
TEST(DigestVector, APieceAddedByAnyCodeGoesOnFromThatBefore) {
  const std::vector<std::byte> bytes = test_bytes(100'000);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::size_t at = 0;
  for (std::size_t piece = 1; at < bytes.size(); piece = piece * 3 + 1) {
    const std::span<const std::byte> part = std::span(bytes).subspan(at, std::min(piece, bytes.size() - at));
    const Named& chosen = all_codes()[piece % all_codes().size()];
    if (chosen.here) {
      chosen.code.update_128(state.get(), part.data(), part.size());
    } else {
      XXH3_128bits_update(state.get(), part.data(), part.size());
    }
    at += part.size();
  }
  const XXH128_hash_t wanted = XXH3_128bits(bytes.data(), bytes.size());
  EXPECT_NE(XXH128_isEqual(XXH3_128bits_digest(state.get()), wanted), 0);
}

}  // namespace
}  // namespace rdcp::io
