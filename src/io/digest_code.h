// XXH3 by the best code that this machine has. digest_x86.cpp chooses at run time, digest_generic.cpp is for
// the rest; CMake takes one of them.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <span>

namespace rdcp::io {

XXH128_hash_t xxh3_128(std::span<const std::byte> bytes);
// The state is aligned as XXH3_createState() does.
void xxh3_128_update(XXH3_state_t& state, std::span<const std::byte> bytes);
XXH64_hash_t xxh3_64(std::span<const std::byte> bytes);

}  // namespace rdcp::io
