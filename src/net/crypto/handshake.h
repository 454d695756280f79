// Both ends of a connection prove that they hold the job's session key before they say anything else.
//
//   connector -> listener  hello      "RDCP", version (2), stream index (12 bits) and connector's sealing (4
//                                     bits) in 2 bytes, connector's nonce (32)
//   listener -> connector  challenge  listener's nonce (32), salt (16), listener's sealing (1), zeros (7),
//                                     listener's MAC (32)
//   connector -> listener  proof      connector's MAC (32)
//
//   MAC = HMAC-SHA256(key, label | version | stream index (2) | connector's sealing (1) |
//         listener's sealing (1) | salt | connector's nonce | listener's nonce)
//   label = "rdcp listener" or "rdcp connector"
//
// A side's sealing is what it wants of encryption (sealing.h) in the two lower bits, and in the two upper
// ones the Cipher that it is fast at, or 0 if it is never to encrypt. AES-256-GCM is used if both sides are
// fast at it, else ChaCha20-Poly1305. The MACs cover all of this, so nobody in between can downgrade it. The
// salt is for keys made of a word that people chose, else it is zero.
//
// A TCP listener answers a hello of another version with its own version, and closes:
//
//   listener -> connector  refusal    "RDCP", version (2), zero (2)
//
// Integers are little-endian, labels are ASCII without a terminating zero. Where both sides were told a nonce
// before, early.h takes the place of all this.
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
#include "net/crypto/early.h"
#include "net/crypto/seal.h"
#include "net/crypto/sealing.h"
#include "net/crypto/transcript.h"

namespace rdcp::net {

inline constexpr std::size_t kHelloBytes = 8 + kNonceBytes;
inline constexpr std::size_t kChallengeBytes = kNonceBytes + kSaltBytes + 8 + kMacBytes;
inline constexpr std::size_t kProofBytes = kMacBytes;
inline constexpr std::size_t kRefusalBytes = 8;

// Limits the whole exchange, however slowly its bytes come in.
inline constexpr std::chrono::seconds kHandshakeTimeout{10};

// The things that one side brings to its handshakes.
struct HandshakeTerms {
  HandshakeTerms() = default;
  HandshakeTerms(const SessionKey& key, Sealing sealing = Sealing::never) : key(key), sealing(sealing) {}

  SessionKey key{};
  Sealing sealing = Sealing::never;
  // How long a peer may take to prove that it holds the key.
  std::chrono::milliseconds time_limit = kHandshakeTimeout;
  Salt salt{};  // set by a listener whose key is made of a word; the connector is told
  // Set by a connector whose key is made of a word: makes the key, which replaces `key`. It may be called
  // more than once with the same salt.
  std::function<io::Result<SessionKey>(const Salt&)> key_of{};
  // If both sides were told of it: over a connection that is open already, and that is to be sealed, the
  // connector proves itself at once.
  std::optional<EarlyTerms> early{};
};

// Returns how a wish for encryption and a cipher are said in one number of four bits.
std::uint8_t said_of(Sealing sealing, Cipher cipher);

// Error (connection): OpenSSL refuses, as it may in a restricted configuration.
io::Result<Mac> listener_mac(const SessionKey& key, const Transcript& transcript);
io::Result<Mac> connector_mac(const SessionKey& key, const Transcript& transcript);

// Returns the version of the sender of a hello or a refusal, if it is not ours. Returns nothing for any other
// message, or one that is too short.
std::optional<std::uint16_t> other_version(std::span<const std::byte> message);
io::Error version_error(std::uint16_t theirs);
std::array<std::byte, kRefusalBytes> version_refusal();

// These make and check the three messages without any transport, so that RDMA can carry them in SENDs. The
// connecting side speaks first (iWARP needs that). MACs are compared in constant time. One object serves one
// connection. If the system has no random bytes, nothing is ever accepted.
class Connector {
 public:
  Connector(const HandshakeTerms& terms, std::uint16_t stream_index);  // draws a nonce
  std::array<std::byte, kHelloBytes> hello() const;
  // Checks the listener's MAC. Errors: "does not hold this job's key", or one side wants to seal and the
  // other does not allow it (connection); the challenge has bytes that this version does not know (protocol).
  io::Result<std::array<std::byte, kProofBytes>> answer(
      std::span<const std::byte, kChallengeBytes> challenge) const;
  // To be called after a successful answer(). Returns the agreed keys, or nothing if the stream is not
  // sealed.
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
  // Errors: the peer does not speak rdcp, or has another protocol version (the error names both), or its
  // stream index is not below stream_count.
  io::Result<std::array<std::byte, kChallengeBytes>> challenge(std::span<const std::byte, kHelloBytes> hello,
                                                               std::uint16_t stream_count);
  // Error (connection): the proof is wrong, or there was no challenge yet.
  io::Result<void> check(std::span<const std::byte, kProofBytes> proof) const;
  // After the challenge: says why the two sides cannot agree on sealing, so that no proof will come. Empty if
  // they agree.
  std::string_view disagreement() const;
  // To be called after a successful check().
  io::Result<std::optional<SealKeys>> seal_keys() const;
  std::uint16_t stream_index() const { return transcript_.stream_index; }

 private:
  HandshakeTerms terms_;
  Transcript transcript_;
  bool nonce_drawn_;
  bool challenged_ = false;
};

}  // namespace rdcp::net
