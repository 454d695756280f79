// Takes a page apart that a peer wrote.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "io/digest.h"
#include "net/crypto/little_endian.h"

namespace rdcp::tree {

// Once something is missing, everything that follows is zero or empty, and cut() is true.
class PageReader {
 public:
  explicit PageReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  // An integer, little-endian.
  template <class T>
  T number() {
    const auto bytes = take(sizeof(T));
    return cut_ ? 0 : net::load_le<T>(bytes.data());
  }
  // Points into the page.
  std::string_view text(std::size_t length) {
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  io::Digest digest() {
    io::Digest digest;
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

}  // namespace rdcp::tree
