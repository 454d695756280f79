// A digest of many items that does not depend on their order, against forgery: LtHash16 (Bellare and
// Micciancio, "A New Paradigm for Collision-Free Hashing", 1997; with these sizes Lewi et al., IACR
// 2019/227).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace rdcp::net {

using Sha256 = std::array<std::byte, 32>;
// Returns the SHA-256 (FIPS 180-4) of the parts, one after the other. Throws std::bad_alloc.
Sha256 sha256_of(std::initializer_list<std::span<const std::byte>> parts);

// Each item, a SHA-256, is stretched to 1024 numbers of 16 bits by AES-256-CTR with the item as its key; the
// digest is their sum. To find other items with the same sum is as hard as finding short vectors in a
// lattice, at least 2^200 steps.
class SetHash {
 public:
  static constexpr std::size_t kBytes = 2048;

  void add(const Sha256& item);
  bool operator==(const SetHash&) const = default;

  // The numbers, little-endian.
  using Bytes = std::array<std::byte, kBytes>;
  Bytes bytes() const;
  static SetHash of_bytes(const Bytes& bytes);

 private:
  friend bool differ_by_some(const SetHash&, const SetHash&, const std::vector<Sha256>&);
  static constexpr std::size_t kNumbers = kBytes / sizeof(std::uint16_t);
  using Numbers = std::array<std::uint16_t, kNumbers>;

  static Numbers stretched(const Sha256& item);

  Numbers sum_{};
};

// The most items that differ_by_some() takes: with more the answer would not be sure.
inline constexpr std::size_t kDifferingMax = 960;
// Returns true if `more` is `less` with some of the items added, each at most once. items: at most
// kDifferingMax, none twice.
bool differ_by_some(const SetHash& less, const SetHash& more, const std::vector<Sha256>& items);

}  // namespace rdcp::net
