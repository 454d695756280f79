// Holds what two sides of a connection have said while they prove that they hold the job's key, and makes the
// codes by which they prove it (handshake.h, early.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/result.h"
#include "io/secret.h"

namespace rdcp::net {

// The version of everything that travels on a stream: handshake, frames and what the frames mean.
inline constexpr std::uint16_t kStreamVersion = 9;

using SessionKey = io::Secret<32>;
io::Result<SessionKey> make_session_key();  // getrandom(2)

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kMacBytes = 32;
inline constexpr std::size_t kSaltBytes = 16;
using Nonce = std::array<std::byte, kNonceBytes>;
using Mac = std::array<std::byte, kMacBytes>;
using Salt = std::array<std::byte, kSaltBytes>;
io::Result<Salt> make_salt();
io::Result<Nonce> make_nonce();

inline constexpr std::uint16_t kStreamIndexMax = (1 << 12) - 1;

// The words that a MAC covers, apart from its label.
struct Transcript {
  std::uint16_t version = kStreamVersion;
  std::uint16_t stream_index = 0;
  // Its Sealing, and 4 times the cipher (seal.h) that it would rather use.
  std::uint8_t connector_sealing = 0;
  std::uint8_t listener_sealing = 0;  // likewise
  Salt salt{};
  Nonce connector_nonce{};
  Nonce listener_nonce{};
};

// HMAC-SHA256(key, label | version | stream index (2) | connector's sealing (1) | listener's sealing (1) |
// salt | connector's nonce | listener's nonce). No label that is used may be the beginning of another one.
// Error (connection): OpenSSL refuses, as it may in a restricted configuration.
io::Result<Mac> transcript_mac(const SessionKey& key, std::string_view label, const Transcript& transcript);
// Compares in constant time. Errors: the peer "does not hold this job's key" (connection), or that of
// transcript_mac().
io::Result<void> compare(const io::Result<Mac>& expected, std::span<const std::byte, kMacBytes> claimed);

// An error of the peer's, as "handshake with peer: DETAIL".
io::Error handshake_error(std::string_view detail, io::ErrorKind kind = io::ErrorKind::connection);

}  // namespace rdcp::net
