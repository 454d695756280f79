// XXH3-128 digests, bound to a position. They guard against faults, not against forgers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rdcp::io {

// Canonical (big-endian) XXH3-128, seed 0: the bytes that `xxh128sum` prints.
struct Digest {
  std::array<std::byte, 16> bytes{};
  bool operator==(const Digest&) const = default;
};

// Of a chunk's bytes. Uses the widest vector code that the CPU has (xxh_x86dispatch).
Digest digest_of(std::span<const std::byte> bytes);

// The same of bytes that come piece by piece.
class RunningDigest {
 public:
  RunningDigest();
  RunningDigest(RunningDigest&&) noexcept;
  RunningDigest& operator=(RunningDigest&&) noexcept;
  ~RunningDigest();
  void add(std::span<const std::byte> bytes);
  // Of all since it was made, or since the last call.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A 64-bit check of a small header (XXH3-64, seed 0).
std::uint64_t check_of(std::span<const std::byte> bytes);

// A file's digest out of its chunks': the sum modulo 2^128 of XXH3-128(offset, length, digest), so chunks may
// be added in any order, in flat memory, and swapped or repeated chunks do not cancel out.
class FileDigest {
 public:
  void add(std::uint64_t offset, std::uint64_t length, const Digest& digest);
  // Takes back what was added: the chunk is to be written once more, perhaps with other bytes.
  void remove(std::uint64_t offset, std::uint64_t length, const Digest& digest);
  Digest value() const;

 private:
  unsigned __int128 sum_ = 0;
};

}  // namespace rdcp::io
