// Built where net/crypto/wide_aes_ipsec_mb.cpp is; that it gives OpenSSL's bytes is in seal_test.cpp.
#include "net/crypto/wide_aes.h"

#include <gtest/gtest.h>

namespace rdcp::net {
namespace {

TEST(WideAes, IsUsedWhereTheProcessorHasIt) {
  const bool wide = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512ifma") &&
                    __builtin_cpu_supports("gfni") && __builtin_cpu_supports("vpclmulqdq");
  if (!wide) GTEST_SKIP() << "no 512-bit AES on this processor";
  EXPECT_NE(WideAes::create(SealKey()), nullptr);
}

}  // namespace
}  // namespace rdcp::net
