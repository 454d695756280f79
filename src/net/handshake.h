// Both ends of a connection prove that they hold the job's session key before anything else is said.
//
//   connector -> listener  hello      "RDCP", version (2), stream index (2), connector's nonce (32)
//   listener -> connector  challenge  listener's nonce (32), listener's MAC (32)
//   connector -> listener  proof      connector's MAC (32)
//
//   listener's MAC  = HMAC-SHA256(key, "rdcp listener"  | version | stream index | connector's nonce |
//   listener's nonce) connector's MAC = HMAC-SHA256(key, "rdcp connector" | version | stream index |
//   connector's nonce | listener's nonce)
//
// A listener of another version answers the hello by its own, and closes:
//
//   listener -> connector  refusal    "RDCP", version (2), zero (2)
//
// Integers are little-endian, labels are ASCII without a terminating zero; neither label is a prefix of the
// other.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/result.h"

namespace rdcp::net {

// Of everything that travels on a stream: handshake, frames and what the frames mean.
inline constexpr std::uint16_t kProtocolVersion = 4;

using SessionKey = std::array<std::byte, 32>;
io::Result<SessionKey> make_session_key();  // getrandom(2)

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kMacBytes = 32;
// magic "RDCP" (4), protocol version (2), stream index (2), connector's nonce (32)
inline constexpr std::size_t kHelloBytes = 8 + kNonceBytes;
inline constexpr std::size_t kChallengeBytes = kNonceBytes + kMacBytes;  // listener's nonce, listener's MAC
inline constexpr std::size_t kProofBytes = kMacBytes;                    // connector's MAC
inline constexpr std::size_t kRefusalBytes = 8;

inline constexpr std::chrono::seconds kHandshakeTimeout{
    10};  // for the whole exchange, trickled bytes included

using Nonce = std::array<std::byte, kNonceBytes>;
using Mac = std::array<std::byte, kMacBytes>;

// What a MAC is over, apart from its label.
struct Transcript {
  std::uint16_t version = kProtocolVersion;
  std::uint16_t stream_index = 0;
  Nonce connector_nonce{};
  Nonce listener_nonce{};
};

// Error (connection): OpenSSL refuses, as it may in a restricted configuration.
io::Result<Mac> listener_mac(const SessionKey& key, const Transcript& transcript);
io::Result<Mac> connector_mac(const SessionKey& key, const Transcript& transcript);

// What a hello, or a refusal, is to be told by: the version of its sender, where that is another one than
// ours. Of a message that is neither, or not whole: none.
std::optional<std::uint16_t> other_version(std::span<const std::byte> message);
io::Error version_error(std::uint16_t theirs);
std::array<std::byte, kRefusalBytes> version_refusal();

// The three messages as pure functions, transport-free, so that RDMA can carry them in SENDs. The connecting
// side speaks first (iWARP needs that). MACs are compared in constant time. One object serves one connection.
// Where the system has no randomness to give, nothing is ever accepted.
class Connector {
 public:
  Connector(const SessionKey& key, std::uint16_t stream_index);  // draws a nonce
  std::array<std::byte, kHelloBytes> hello() const;
  // Checks the listener's MAC. Error: connection ("does not hold this job's key").
  io::Result<std::array<std::byte, kProofBytes>> answer(
      std::span<const std::byte, kChallengeBytes> challenge) const;

 private:
  SessionKey key_;
  std::uint16_t stream_index_;
  Nonce nonce_{};
  bool nonce_drawn_;
};

class Listener {
 public:
  explicit Listener(const SessionKey& key);  // draws a nonce
  // Errors: not rdcp, another protocol version (names both), stream index not below stream_count.
  io::Result<std::array<std::byte, kChallengeBytes>> challenge(std::span<const std::byte, kHelloBytes> hello,
                                                               std::uint16_t stream_count);
  // Error: connection, also when there was no challenge yet.
  io::Result<void> check(std::span<const std::byte, kProofBytes> proof) const;
  std::uint16_t stream_index() const { return transcript_.stream_index; }

 private:
  SessionKey key_;
  Transcript transcript_;
  bool nonce_drawn_;
  bool challenged_ = false;
};

}  // namespace rdcp::net
