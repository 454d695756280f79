#include "net/crypto/early.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "io/bytes.h"
#include "net/crypto/handshake.h"

namespace rdcp::net {
namespace {

constexpr std::string_view kEarlyMagic = "RDCE";
constexpr std::string_view kEarlyConnectorLabel = "rdcp early connector";
constexpr std::string_view kEarlyListenerLabel = "rdcp early listener";

constexpr std::size_t kEarlyVersionAt = 4;
constexpr std::size_t kEarlyIndexAt = 6;
constexpr std::size_t kEarlyNonceAt = 8;
constexpr std::size_t kEarlyMacAt = kEarlyNonceAt + kNonceBytes;
static_assert(kEarlyMacAt + kMacBytes == kEarlyHelloBytes);

Transcript early_transcript_of(const EarlyTerms& terms, std::uint16_t stream_index,
                               const Nonce& connector_nonce) {
  const std::uint8_t sealing = said_of(Sealing::always, terms.cipher);
  return {.stream_index = stream_index,
          .connector_sealing = sealing,
          .listener_sealing = sealing,
          .salt = {},
          .connector_nonce = connector_nonce,
          .listener_nonce = terms.nonce};
}

io::Result<SealKeys> early_keys_of(const SessionKey& key, const EarlyTerms& terms,
                                   const Transcript& transcript, bool connector) {
  const SealContext context{.connector_nonce = transcript.connector_nonce,
                            .listener_nonce = transcript.listener_nonce,
                            .version = transcript.version,
                            .stream_index = transcript.stream_index,
                            .cipher = terms.cipher};
  return derive_seal_keys(key, context, connector);
}

}  // namespace

io::Result<EarlyHello> say_early(const SessionKey& key, const EarlyTerms& terms, std::uint16_t stream_index) {
  const auto nonce = make_nonce();
  if (!nonce) return handshake_error("the system has no random bytes");
  const Transcript transcript = early_transcript_of(terms, stream_index & kStreamIndexMax, *nonce);
  const auto proof = transcript_mac(key, kEarlyConnectorLabel, transcript);
  if (!proof) return proof.error();
  const auto welcome = transcript_mac(key, kEarlyListenerLabel, transcript);
  if (!welcome) return welcome.error();
  const auto seal = early_keys_of(key, terms, transcript, true);
  if (!seal) return seal.error();
  EarlyHello hello{.message = {}, .welcome = *welcome, .seal = *seal};
  std::ranges::copy(std::as_bytes(std::span(kEarlyMagic)), hello.message.begin());
  io::store_le(hello.message.data() + kEarlyVersionAt, transcript.version);
  io::store_le(hello.message.data() + kEarlyIndexAt, transcript.stream_index);
  std::ranges::copy(*nonce, hello.message.begin() + kEarlyNonceAt);
  std::ranges::copy(*proof, hello.message.begin() + kEarlyMacAt);
  return hello;
}

bool begins_early(std::span<const std::byte> hello) {
  return hello.size() >= kEarlyMagic.size() &&
         std::ranges::equal(hello.first(kEarlyMagic.size()), std::as_bytes(std::span(kEarlyMagic)));
}

io::Result<EarlyProof> check_early(const SessionKey& key, const EarlyTerms& terms,
                                   std::span<const std::byte, kEarlyHelloBytes> hello,
                                   std::uint16_t stream_count) {
  if (!begins_early(hello)) return handshake_error("does not speak rdcp", io::ErrorKind::protocol);
  const auto version = io::load_le<std::uint16_t>(hello.data() + kEarlyVersionAt);
  if (version != kStreamVersion) return version_error(version);
  const auto index = io::load_le<std::uint16_t>(hello.data() + kEarlyIndexAt);
  if (index >= stream_count) {
    return handshake_error("asks for stream " + std::to_string(index) + " of " + std::to_string(stream_count),
                           io::ErrorKind::protocol);
  }
  Nonce nonce;
  std::ranges::copy(hello.subspan<kEarlyNonceAt, kNonceBytes>(), nonce.begin());
  const Transcript transcript = early_transcript_of(terms, index, nonce);
  const auto proven = compare(transcript_mac(key, kEarlyConnectorLabel, transcript), hello.last<kMacBytes>());
  if (!proven) return proven.error();
  const auto welcome = transcript_mac(key, kEarlyListenerLabel, transcript);
  if (!welcome) return welcome.error();
  const auto seal = early_keys_of(key, terms, transcript, false);
  if (!seal) return seal.error();
  return EarlyProof{.stream_index = index, .welcome = *welcome, .seal = *seal};
}

}  // namespace rdcp::net
