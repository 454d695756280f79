// A credit can carry verdicts besides its status.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rdcp::net {

// A target's answers to the parts of a question, two bits each, in order. Their meaning depends on the
// question.
class Verdicts {
 public:
  static constexpr std::size_t kCount = 128;
  std::uint8_t at(std::size_t index) const {
    return static_cast<std::uint8_t>(bytes_[index / 4] >> (index % 4 * 2) & 3);
  }
  void set(std::size_t index, std::uint8_t verdict) {
    const unsigned shift = index % 4 * 2;
    bytes_[index / 4] =
        static_cast<std::uint8_t>((bytes_[index / 4] & ~(3u << shift)) | (verdict & 3u) << shift);
  }
  bool operator==(const Verdicts&) const = default;

 private:
  friend struct Frame;
  std::array<std::uint8_t, kCount / 4> bytes_{};
};

}  // namespace rdcp::net
