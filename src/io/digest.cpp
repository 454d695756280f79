#include "io/digest.h"

#include <cstring>

#include "io/digest_code.h"

namespace rdcp::io {
namespace {

Digest to_digest(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Digest digest;
  static_assert(sizeof canonical.digest == sizeof digest.bytes);
  std::memcpy(digest.bytes.data(), canonical.digest, digest.bytes.size());
  return digest;
}

// Writes big-endian, as digests are, so that the same file has the same digest on every machine.
void put_u64(std::byte* to, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) *to++ = static_cast<std::byte>(value >> shift);
}

// Binds a chunk's digest to its position.
unsigned __int128 bound_to(std::uint64_t offset, std::uint64_t length, const Digest& digest) {
  std::array<std::byte, 32> bound;
  put_u64(bound.data(), offset);
  put_u64(bound.data() + 8, length);
  std::memcpy(bound.data() + 16, digest.bytes.data(), digest.bytes.size());
  const XXH128_hash_t hash = xxh3_128(bound);
  return static_cast<unsigned __int128>(hash.high64) << 64 | hash.low64;
}

}  // namespace

Digest digest_of(std::span<const std::byte> bytes) {
  return to_digest(xxh3_128(bytes));
}

// The library's own function allocates the state, because it knows the alignment.
struct RunningDigest::State {
  XXH3_state_t* state = XXH3_createState();
  State() { XXH3_128bits_reset(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(state); }
};

RunningDigest::RunningDigest() : state_(std::make_unique<State>()) {}
RunningDigest::RunningDigest(RunningDigest&&) noexcept = default;
RunningDigest& RunningDigest::operator=(RunningDigest&&) noexcept = default;
RunningDigest::~RunningDigest() = default;

void RunningDigest::add(std::span<const std::byte> bytes) {
  xxh3_128_update(*state_->state, bytes);
}

Digest RunningDigest::finish() {
  const Digest digest = to_digest(XXH3_128bits_digest(state_->state));
  XXH3_128bits_reset(state_->state);
  return digest;
}

std::uint64_t check_of(std::span<const std::byte> bytes) {
  return xxh3_64(bytes);
}

void FileDigest::add(std::uint64_t offset, std::uint64_t length, const Digest& digest) {
  sum_ += bound_to(offset, length, digest);
}

void FileDigest::remove(std::uint64_t offset, std::uint64_t length, const Digest& digest) {
  sum_ -= bound_to(offset, length, digest);
}

Digest FileDigest::value() const {
  return to_digest({static_cast<std::uint64_t>(sum_), static_cast<std::uint64_t>(sum_ >> 64)});
}

}  // namespace rdcp::io
