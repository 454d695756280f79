// Both ends of a connection prove that they hold the job's session key before anything else is said.
//
//   connector -> listener  hello      "RDCP", version (2), stream index (14 bits) and connector's sealing (2
//                                     bits) in 2 bytes, connector's nonce (32)
//   listener -> connector  challenge  listener's nonce (32), salt (16), listener's sealing (1), zeros (7),
//                                     listener's MAC (32)
//   connector -> listener  proof      connector's MAC (32)
//
//   MAC = HMAC-SHA256(key, label | version | stream index (2) | connector's sealing (1) | listener's sealing
//   (1) |
//         salt | connector's nonce | listener's nonce), label: "rdcp listener" or "rdcp connector"
//
// Sealing: 0 where the stream is to go as it is, else the Cipher that this side is fast at. Either both want
// it or there is no stream; it is AES-256-GCM if both are fast at it. What is agreed on stands in the MACs,
// so nobody on the way can talk the two out of it. The salt is of use where the key is made of a word that
// people chose, else it is zero.
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
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "io/result.h"
#include "io/secret.h"
#include "net/crypto/seal.h"

namespace rdcp::net {

// Of everything that travels on a stream: handshake, frames and what the frames mean.
inline constexpr std::uint16_t kProtocolVersion = 7;

using SessionKey = io::Secret<32>;
io::Result<SessionKey> make_session_key();  // getrandom(2)

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kMacBytes = 32;
inline constexpr std::size_t kSaltBytes = 16;
inline constexpr std::size_t kHelloBytes = 8 + kNonceBytes;
inline constexpr std::size_t kChallengeBytes = kNonceBytes + kSaltBytes + 8 + kMacBytes;
inline constexpr std::size_t kProofBytes = kMacBytes;
inline constexpr std::size_t kRefusalBytes = 8;

inline constexpr std::chrono::seconds kHandshakeTimeout{
    10};  // for the whole exchange, trickled bytes included

inline constexpr std::uint16_t kStreamIndexMax = (1 << 14) - 1;

using Nonce = std::array<std::byte, kNonceBytes>;
using Mac = std::array<std::byte, kMacBytes>;
using Salt = std::array<std::byte, kSaltBytes>;
io::Result<Salt> make_salt();

// With what one side goes into its handshakes.
struct HandshakeTerms {
  HandshakeTerms() = default;
  HandshakeTerms(const SessionKey& key, bool seals = false) : key(key), seals(seals) {}

  SessionKey key{};
  bool seals = false;
  Salt salt{};  // of a listener whose key is made of a word: told to the connector
  // Of a connector whose key is: makes it, instead of `key`. Called more than once for a salt.
  std::function<io::Result<SessionKey>(const Salt&)> key_of{};
};

// What a MAC is over, apart from its label.
struct Transcript {
  std::uint16_t version = kProtocolVersion;
  std::uint16_t stream_index = 0;
  std::uint8_t connector_sealing = 0;
  std::uint8_t listener_sealing = 0;
  Salt salt{};
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
  Connector(const HandshakeTerms& terms, std::uint16_t stream_index);  // draws a nonce
  std::array<std::byte, kHelloBytes> hello() const;
  // Checks the listener's MAC. Errors (connection): "does not hold this job's key", or one side wants to seal
  // and the other does not.
  io::Result<std::array<std::byte, kProofBytes>> answer(
      std::span<const std::byte, kChallengeBytes> challenge) const;
  // After a good answer(): the keys that were agreed on; none where nothing is sealed.
  io::Result<std::optional<SealKeys>> seal_keys(std::span<const std::byte, kChallengeBytes> challenge) const;

 private:
  io::Result<SessionKey> key_for(const Transcript& transcript) const;
  Transcript transcript_with(std::span<const std::byte, kChallengeBytes> challenge) const;

  HandshakeTerms terms_;
  Transcript transcript_;  // without the listener's part
  bool nonce_drawn_;
};

class Listener {
 public:
  explicit Listener(const HandshakeTerms& terms);  // draws a nonce
  // Errors: not rdcp, another protocol version (names both), stream index not below stream_count.
  io::Result<std::array<std::byte, kChallengeBytes>> challenge(std::span<const std::byte, kHelloBytes> hello,
                                                               std::uint16_t stream_count);
  // Error: connection, also when there was no challenge yet.
  io::Result<void> check(std::span<const std::byte, kProofBytes> proof) const;
  // After the challenge: what keeps a connector that said hello so from proving anything; else empty.
  std::string_view disagreement() const;
  // After a good check().
  io::Result<std::optional<SealKeys>> seal_keys() const;
  std::uint16_t stream_index() const { return transcript_.stream_index; }

 private:
  HandshakeTerms terms_;
  Transcript transcript_;
  bool nonce_drawn_;
  bool challenged_ = false;
};

}  // namespace rdcp::net
