// Both sides of the handshake, from whatever bytes a peer sends: strangers prove nothing; a peer that holds
// the key is taken only if both sides can agree on sealing, with a stream's index that exists; and both then
// have the same keys. The same holds without a round trip, for an early hello.
#include <algorithm>

#include "net/crypto/handshake.h"
#include "tests/fuzz/targets.h"

namespace rdcp::fuzz {
namespace {

using namespace rdcp::net;

constexpr std::size_t kVersionAt = 4, kIndexAt = 6, kHelloNonceAt = 8;
constexpr std::size_t kSaltAt = kNonceBytes, kSealingAt = kSaltAt + kSaltBytes, kMacAt = kSealingAt + 8;
constexpr std::uint16_t kStreams = 5;

SessionKey key_of(std::uint8_t seed) {
  SessionKey key;
  key.fill(std::byte{seed});
  return key;
}

template <std::size_t kSize>
std::array<std::byte, kSize> taken(Choices& choices) {
  std::array<std::byte, kSize> bytes{};
  const std::string_view piece = choices.piece();
  std::ranges::copy(bytes_of(piece).first(std::min(piece.size(), kSize)), bytes.begin());
  return bytes;
}

Sealing any_sealing(Choices& choices) {
  return static_cast<Sealing>(choices.below(4));
}

// What two sides that said this come to: sealed or not, or nothing. As handshake.h has it, in other words.
std::optional<bool> outcome(Sealing here, std::uint8_t there) {
  const auto other = static_cast<Sealing>(there % 4);
  if (other == Sealing::never ? there != 0 : there / 4 != 1 && there / 4 != 2) return std::nullopt;
  const bool someone_wants = here == Sealing::always || here == Sealing::rather || other == Sealing::always ||
                             other == Sealing::rather;
  const bool someone_forbids = here == Sealing::never || other == Sealing::never;
  if (someone_wants && someone_forbids) return std::nullopt;
  return someone_wants;
}

// Changes a few bytes, as long as the choices say so.
void mutate(std::span<std::byte> bytes, Choices& choices) {
  for (std::size_t i = choices.below(4); i > 0; --i) {
    bytes[choices.below(bytes.size())] ^= std::byte{choices.number<std::uint8_t>()};
  }
}

Transcript transcript_of(std::span<const std::byte, kHelloBytes> hello,
                         std::span<const std::byte, kChallengeBytes> challenge) {
  Transcript transcript;
  const auto index = io::load_le<std::uint16_t>(hello.data() + kIndexAt);
  transcript.stream_index = index & kStreamIndexMax;
  transcript.connector_sealing = static_cast<std::uint8_t>(index >> 12);
  transcript.listener_sealing = std::to_integer<std::uint8_t>(challenge[kSealingAt]);
  std::ranges::copy(challenge.subspan<kSaltAt, kSaltBytes>(), transcript.salt.begin());
  std::ranges::copy(hello.subspan<kHelloNonceAt, kNonceBytes>(), transcript.connector_nonce.begin());
  std::ranges::copy(challenge.first<kNonceBytes>(), transcript.listener_nonce.begin());
  return transcript;
}

// A hostile connector: sends any hello, and a proof that is right if it has the key.
void attack_listener(Choices& choices) {
  HandshakeTerms terms(key_of(1), any_sealing(choices));
  terms.salt.fill(std::byte{choices.number<std::uint8_t>()});
  Listener listener(terms);
  const bool knows_form = choices.flag(), has_key = choices.flag();
  auto hello = taken<kHelloBytes>(choices);
  if (knows_form) {
    hello = Connector(HandshakeTerms(key_of(1), any_sealing(choices)), choices.number<std::uint8_t>() % 8)
                .hello();
    mutate(hello, choices);
  }
  require(!listener.check(taken<kProofBytes>(choices)).ok());  // before it was asked
  const auto challenge = listener.challenge(hello, kStreams);
  const auto version = io::load_le<std::uint16_t>(hello.data() + kVersionAt);
  const bool magic = text_of(hello).starts_with("RDCP");
  require(other_version(hello) ==
          (magic && version != net::kStreamVersion ? std::optional(version) : std::nullopt));
  if (!challenge) {
    require(!listener.check(taken<kProofBytes>(choices)).ok() && listener.disagreement().empty());
    return;
  }
  require(magic && version == net::kStreamVersion && listener.stream_index() < kStreams);
  const Transcript transcript = transcript_of(hello, *challenge);
  auto proof = *connector_mac(key_of(has_key ? 1 : 2), transcript);
  const auto right = proof;
  mutate(proof, choices);
  const auto agreed = outcome(terms.sealing, transcript.connector_sealing);
  const bool agree = agreed.has_value();
  require(listener.disagreement().empty() == agree);
  const bool accepted = listener.check(proof).ok();
  require(accepted == (has_key && proof == right && agree));
  if (accepted) require(listener.seal_keys().ok() && listener.seal_keys()->has_value() == *agreed);
}

// A hostile listener: sends any challenge, with a right MAC if it has the key.
void attack_connector(Choices& choices) {
  HandshakeTerms terms(key_of(1), any_sealing(choices));
  const bool made_of_word = choices.flag();
  if (made_of_word) {
    terms.key = key_of(9);
    terms.key_of = [](const Salt& salt) -> io::Result<SessionKey> {
      return key_of(std::to_integer<std::uint8_t>(salt[0]));
    };
  }
  const Connector connector(terms, kStreams);
  const auto hello = connector.hello();
  const bool has_key = choices.flag();
  auto challenge = taken<kChallengeBytes>(choices);
  if (choices.flag()) challenge[kSealingAt] = std::byte{choices.number<std::uint8_t>()} & std::byte{15};
  if (choices.flag()) std::fill_n(challenge.begin() + kSealingAt + 1, 7, std::byte{0});
  const Transcript transcript = transcript_of(hello, challenge);
  const std::uint8_t seed = made_of_word ? std::to_integer<std::uint8_t>(challenge[kSaltAt]) : 1;
  if (has_key) std::ranges::copy(*listener_mac(key_of(seed), transcript), challenge.begin() + kMacAt);
  mutate(std::span(challenge).last<kMacBytes>(), choices);

  const auto proof = connector.answer(challenge);
  const auto right = *listener_mac(key_of(seed), transcript);
  const bool proven = std::ranges::equal(std::span(challenge).last<kMacBytes>(), right);
  const auto agreed = outcome(terms.sealing, transcript.listener_sealing);
  const bool agree = agreed.has_value();
  const bool zeros = std::ranges::all_of(std::span(challenge).subspan<kSealingAt + 1, 7>(),
                                         [](std::byte b) { return b == std::byte{0}; });
  require(proof.ok() == (proven && agree && zeros));
  if (!proof) return;
  require(*proof == *connector_mac(key_of(seed), transcript));
  require(connector.seal_keys(challenge).ok() && connector.seal_keys(challenge)->has_value() == *agreed);
}

// Two honest sides, and somebody between them who changes messages.
void meddle(Choices& choices) {
  const Sealing sealing = any_sealing(choices), other_sealing = any_sealing(choices);
  const bool same_key = choices.flag();
  Connector connector(HandshakeTerms(key_of(1), sealing), kStreams - 1);
  Listener listener(HandshakeTerms(key_of(same_key ? 1 : 2), other_sealing));
  const auto hello = connector.hello();
  auto changed_hello = hello;
  mutate(changed_hello, choices);
  const auto challenge = listener.challenge(changed_hello, kStreams);
  if (!challenge) return require(changed_hello != hello);
  auto changed_challenge = *challenge;
  mutate(changed_challenge, choices);
  const auto proof = connector.answer(changed_challenge);
  const bool untouched = changed_hello == hello && changed_challenge == *challenge;
  const auto cipher_of_any = static_cast<std::uint8_t>(other_sealing == Sealing::never ? 0 : 4);
  const auto agreed = outcome(sealing, static_cast<std::uint8_t>(other_sealing) | cipher_of_any);
  require(proof.ok() == (untouched && same_key && agreed));
  if (!proof) return;
  const bool seals = *agreed;
  auto changed_proof = *proof;
  mutate(changed_proof, choices);
  require(listener.check(changed_proof).ok() == (changed_proof == *proof));
  const auto here = connector.seal_keys(changed_challenge), there = listener.seal_keys();
  require(here.ok() && there.ok() && here->has_value() == seals && there->has_value() == seals);
  if (!seals) return;
  require((*here)->sending == (*there)->receiving && (*here)->receiving == (*there)->sending);
  require((*here)->cipher == (*there)->cipher && (*here)->sending != (*here)->receiving);
}

// An early hello of anybody: of one who has the key or not, was told the same or not, or knows no form at
// all.
void attack_early(Choices& choices) {
  EarlyTerms here;
  here.nonce.fill(std::byte{choices.number<std::uint8_t>()});
  here.cipher = choices.flag() ? Cipher::aes_256_gcm : Cipher::chacha20_poly1305;
  EarlyTerms there = here;
  if (choices.flag()) there.cipher = choices.flag() ? Cipher::aes_256_gcm : Cipher::chacha20_poly1305;
  mutate(there.nonce, choices);
  const bool has_key = choices.flag();
  const std::uint16_t index = choices.number<std::uint8_t>() % 8;
  const EarlyHello hello = *say_early(key_of(has_key ? 1 : 2), there, index);
  auto message = choices.flag() ? hello.message : taken<kEarlyHelloBytes>(choices);
  mutate(message, choices);
  const auto proof = check_early(key_of(1), here, message, kStreams);
  const bool same_terms = there.nonce == here.nonce && there.cipher == here.cipher;
  require(proof.ok() == (message == hello.message && has_key && same_terms && index < kStreams));
  if (!proof) return;
  require(proof->stream_index == index && proof->welcome == hello.welcome);
  require(proof->seal.sending == hello.seal.receiving && proof->seal.receiving == hello.seal.sending);
  require(proof->seal.cipher == here.cipher && proof->seal.sending != proof->seal.receiving);
}

}  // namespace

void fuzz_handshake(Bytes input) {
  Choices choices(input);
  switch (choices.below(4)) {
    case 0:
      return attack_listener(choices);
    case 1:
      return attack_connector(choices);
    case 2:
      return attack_early(choices);
    default:
      return meddle(choices);
  }
}

}  // namespace rdcp::fuzz
