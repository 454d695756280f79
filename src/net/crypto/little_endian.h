// Stores and loads integers as they are on the wire.
#pragma once

#include <concepts>
#include <cstddef>

namespace rdcp::net {

template <std::unsigned_integral T>
constexpr void store_le(std::byte* to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

template <std::unsigned_integral T>
constexpr T load_le(const std::byte* from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(from[i]) << (8 * i)));
  }
  return value;
}

}  // namespace rdcp::net
