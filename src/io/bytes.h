// Stores and loads integers as they are on the wire and in rdcp's own files, and takes apart and puts
// together what consists of them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "io/digest.h"

namespace rdcp::io {

// Both are little-endian. The caller has seen to it that there are sizeof(T) bytes.
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

// Takes bytes apart that a peer wrote. Once something is missing, everything that follows is zero or empty,
// and cut() is true.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    const auto bytes = take(sizeof(T));
    return cut_ ? 0 : load_le<T>(bytes.data());
  }
  // Points into the bytes.
  std::string_view text(std::size_t length) {
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  Digest digest() {
    Digest digest;
    std::ranges::copy(take(digest.bytes.size()), digest.bytes.begin());
    return digest;
  }
  bool cut() const { return cut_; }
  bool at_end() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> take(std::size_t length) {
    cut_ = cut_ || rest_.size() < length;
    if (cut_) return {};
    const auto taken = rest_.first(length);
    rest_ = rest_.subspan(length);
    return taken;
  }

  std::span<const std::byte> rest_;
  bool cut_ = false;
};

// Writes into memory of a fixed size. Once something does not fit, nothing more is written, and full() is
// true; a copy made before is a way back.
class ByteWriter {
 public:
  ByteWriter() = default;
  explicit ByteWriter(std::span<std::byte> room) : room_(room) {}

  template <std::unsigned_integral T>
  void number(T value) {
    if (!has_room(sizeof value)) return;
    store_le(room_.data() + used_, value);
    used_ += sizeof value;
  }
  void text(std::string_view text) { bytes(text.data(), text.size()); }
  void digest(const Digest& digest) { bytes(digest.bytes.data(), digest.bytes.size()); }
  bool full() const { return full_; }
  std::size_t used() const { return used_; }

 private:
  void bytes(const void* from, std::size_t length) {
    if (!has_room(length)) return;
    if (length > 0) std::memcpy(room_.data() + used_, from, length);
    used_ += length;
  }
  bool has_room(std::size_t length) {
    full_ = full_ || room_.size() - used_ < length;
    return !full_;
  }

  std::span<std::byte> room_;
  std::size_t used_ = 0;
  bool full_ = false;
};

}  // namespace rdcp::io
