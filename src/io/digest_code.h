// Runs XXH3 with the best code that this machine has. digest_x86.cpp chooses it at run time,
// digest_generic.cpp serves all other processors; CMake compiles one of the two.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <span>

namespace rdcp::io {

XXH128_hash_t xxh3_128(std::span<const std::byte> bytes);
// The state must be aligned as XXH3_createState() does it.
void xxh3_128_update(XXH3_state_t& state, std::span<const std::byte> bytes);
XXH64_hash_t xxh3_64(std::span<const std::byte> bytes);

}  // namespace rdcp::io
