// XXH3 compiled for the wider vectors that an x86 processor may have. Each source that has one of these is
// compiled for such processors only (CMakeLists.txt), and so includes no header whose inline functions others
// use, too.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace rdcp::io {

struct VectorSum {
  uint64_t low;
  uint64_t high;
};

// The same functions as in digest_code.h. The state is an XXH3_state_t.
struct VectorCode {
  VectorSum (*hash_128)(const void* bytes, size_t count);
  void (*update_128)(void* state, const void* bytes, size_t count);
  uint64_t (*hash_64)(const void* bytes, size_t count);
};

extern const VectorCode kAvx2Code;
extern const VectorCode kAvx512Code;

}  // namespace rdcp::io
