#include <cpuid.h>

#include "net/crypto/seal.h"

namespace rdcp::net {

bool has_fast_aes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_AES) != 0 && (c & bit_PCLMUL) != 0;
}

}  // namespace rdcp::net
