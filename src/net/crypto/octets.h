// Casts bytes to the types that C libraries take.
#pragma once

#include <cstddef>
#include <span>

namespace rdcp::net {

inline const unsigned char* to_read(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* to_write(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

}  // namespace rdcp::net
