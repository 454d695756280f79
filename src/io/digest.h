// XXH3-128 digests of chunks, and a file's digest made of them. They detect faults, not forgery.
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

// Returns the digest of a chunk's bytes. On x86 it uses the widest vector code that the CPU has
// (xxh_x86dispatch).
Digest digest_of(std::span<const std::byte> bytes);

// Computes the same digest of bytes that come in pieces.
class RunningDigest {
 public:
  RunningDigest();
  RunningDigest(RunningDigest&&) noexcept;
  RunningDigest& operator=(RunningDigest&&) noexcept;
  ~RunningDigest();
  void add(std::span<const std::byte> bytes);
  // Returns the digest of all bytes that were added since construction or the last finish().
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns a 64-bit checksum of a small header (XXH3-64, seed 0).
std::uint64_t check_of(std::span<const std::byte> bytes);

// Combines chunk digests into a file's digest: the sum modulo 2^128 of XXH3-128(offset, length, digest). So
// chunks may be added in any order, in constant memory, and swapped or repeated chunks do not cancel out.
class FileDigest {
 public:
  void add(std::uint64_t offset, std::uint64_t length, const Digest& digest);
  // Takes back a chunk that was added, because it will be written once more, perhaps with other bytes.
  void remove(std::uint64_t offset, std::uint64_t length, const Digest& digest);
  Digest value() const;

 private:
  unsigned __int128 sum_ = 0;
};

}  // namespace rdcp::io
