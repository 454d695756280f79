// A handshake that costs no round trip (0-RTT): where the coordinator has told both sides a nonce, the
// connector proves at once that it holds the job's key, and its data follows its proof.
//
//   connector -> listener  early hello  "RDCE", version (2), stream index (2), connector's nonce (32),
//                                       connector's MAC (32)
//   listener -> connector  welcome      listener's MAC (32)
//
// The MACs are those of handshake.h, with labels of their own, the told nonce for the listener's, no salt,
// and `always` with the told cipher for both sealings: such a stream is sealed, so whoever else answers at
// the listener's address can read nothing of it, and does not come to a welcome.
//
// Whoever has seen an early hello can send it again. The listener takes one for each stream index, and the
// told nonce serves one job, so what is sent again is taken nowhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/result.h"
#include "net/crypto/seal.h"
#include "net/crypto/transcript.h"

namespace rdcp::net {

// Both sides were told this beforehand, over a channel that they trust.
struct EarlyTerms {
  Nonce nonce{};
  Cipher cipher = Cipher::aes_256_gcm;
};

inline constexpr std::size_t kEarlyHelloBytes = 8 + kNonceBytes + kMacBytes;
inline constexpr std::size_t kWelcomeBytes = kMacBytes;

// The part of a connector. The stream is sealed with `seal`; nothing that comes before `welcome` may be used.
struct EarlyHello {
  std::array<std::byte, kEarlyHelloBytes> message;
  Mac welcome;
  SealKeys seal;
};
// Errors (connection): the system has no random bytes, or OpenSSL refuses.
io::Result<EarlyHello> say_early(const SessionKey& key, const EarlyTerms& terms, std::uint16_t stream_index);

// True if this is the beginning, of at least 4 bytes, of an early hello.
bool begins_early(std::span<const std::byte> hello);

// The part of a listener, which sends `welcome`.
struct EarlyProof {
  std::uint16_t stream_index = 0;
  Mac welcome;
  SealKeys seal;
};
// Errors: the peer "does not hold this job's key" (connection), it has another version, or its stream index
// is not below stream_count (protocol).
io::Result<EarlyProof> check_early(const SessionKey& key, const EarlyTerms& terms,
                                   std::span<const std::byte, kEarlyHelloBytes> hello,
                                   std::uint16_t stream_count);

}  // namespace rdcp::net
