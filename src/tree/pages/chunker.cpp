#include "tree/pages/chunker.h"

#include <algorithm>
#include <array>
#include <bit>

namespace rdcp::tree {

namespace {

constexpr std::uint64_t kWindowBytes = 64;  // a hash of 64 bits that is shifted by one each byte covers these
constexpr int kStricterBits = 2;

// Any numbers will do if both ends have the same ones (splitmix64).
constexpr std::array<std::uint64_t, 256> make_gears() {
  std::array<std::uint64_t, 256> gears{};
  std::uint64_t state = 0;
  for (std::uint64_t& gear : gears) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    gear = mixed ^ mixed >> 31;
  }
  return gears;
}
constexpr std::array<std::uint64_t, 256> kGears = make_gears();

// A mask of the highest bits, which depend on the whole window.
std::uint64_t high_bits(int count) {
  return ~std::uint64_t{0} << (64 - count);
}

}  // namespace

bool Chunker::is_average(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kAverageMin && bytes <= kAverageMax;
}

Chunker::Chunker(std::uint64_t average)
    : min_(average / 4),
      average_(average),
      max_(average * 4),
      strict_mask_(high_bits(std::countr_zero(average) + kStricterBits)),
      loose_mask_(high_bits(std::countr_zero(average) - kStricterBits)) {}

std::size_t Chunker::take(std::span<const std::byte> bytes) {
  if (length_ == 0) hash_ = 0;
  std::size_t at = 0;
  // Skips bytes where no cut can be, and on which no later one depends.
  const std::uint64_t skipped = min_ - kWindowBytes;
  if (length_ < skipped) {
    at = static_cast<std::size_t>(std::min<std::uint64_t>(skipped - length_, bytes.size()));
    length_ += at;
  }
  while (at < bytes.size()) {
    // Each part of a chunk has its own loop: its window, the bytes up to the average length, and the rest.
    const std::uint64_t behind = length_ < min_ ? min_ : length_ < average_ ? average_ : max_;
    const std::uint64_t mask = length_ < min_       ? ~std::uint64_t{0}
                               : length_ < average_ ? strict_mask_
                                                    : loose_mask_;
    const std::size_t end =
        at + static_cast<std::size_t>(std::min<std::uint64_t>(behind - length_, bytes.size() - at));
    const std::size_t begin = at;
    bool cut = false;
    while (at < end && !cut) {
      hash_ = (hash_ << 1) + kGears[static_cast<std::uint8_t>(bytes[at++])];
      cut = (hash_ & mask) == 0;
    }
    const bool may_cut = length_ >= min_;
    length_ += at - begin;
    if ((cut && may_cut) || length_ == max_) {
      length_ = 0;
      return at;
    }
  }
  return at;
}

}  // namespace rdcp::tree
