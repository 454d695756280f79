#include "net/crypto/handshake.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "io/bytes.h"

namespace rdcp::net {
namespace {

constexpr std::string_view kMagic = "RDCP";
constexpr std::string_view kListenerLabel = "rdcp listener";
constexpr std::string_view kConnectorLabel = "rdcp connector";

constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kIndexAt = 6;
constexpr unsigned kSealingShift = 12;
constexpr std::size_t kNonceAt = 8;

// Offsets in a challenge.
constexpr std::size_t kSaltAt = kNonceBytes;
constexpr std::size_t kListenerSealingAt = kSaltAt + kSaltBytes;
constexpr std::size_t kZerosAt = kListenerSealingAt + 1;
constexpr std::size_t kMacAt = kListenerSealingAt + 8;
static_assert(kMacAt + kMacBytes == kChallengeBytes);

constexpr std::string_view kOnlyHere =
    "was given --no-encrypt, but this side was not; give it to both or to neither";
constexpr std::string_view kOnlyThere =
    "was not given --no-encrypt, but this side was; give it to both or to neither";

// How a Sealing and a cipher are said in one number of four bits.
constexpr unsigned kCipherShift = 2;
constexpr std::uint8_t kSealingMask = (1 << kCipherShift) - 1;

bool draw(Nonce& into) {
  const auto nonce = make_nonce();
  if (nonce) into = *nonce;
  return nonce.ok();
}

std::uint8_t said_of(Sealing sealing) {
  return said_of(sealing, has_fast_aes() ? Cipher::aes_256_gcm : Cipher::chacha20_poly1305);
}

Sealing sealing_in(std::uint8_t said) {
  return static_cast<Sealing>(said & kSealingMask);
}

Cipher cipher_in(std::uint8_t said) {
  return static_cast<Cipher>(said >> kCipherShift);
}

// True for what said_of() can return.
bool is_known(std::uint8_t said) {
  const unsigned cipher = said >> kCipherShift;
  if (sealing_in(said) == Sealing::never) return cipher == 0;
  return cipher == static_cast<unsigned>(Cipher::aes_256_gcm) ||
         cipher == static_cast<unsigned>(Cipher::chacha20_poly1305);
}

bool wants(Sealing sealing) {
  return sealing == Sealing::always || sealing == Sealing::rather;
}

bool are_sealed(const Transcript& transcript) {
  const Sealing connector = sealing_in(transcript.connector_sealing);
  const Sealing listener = sealing_in(transcript.listener_sealing);
  return connector != Sealing::never && listener != Sealing::never && (wants(connector) || wants(listener));
}

io::Result<std::optional<SealKeys>> keys_of(const SessionKey& key, const Transcript& transcript,
                                            bool connector) {
  if (!are_sealed(transcript)) return std::optional<SealKeys>();
  const bool aes = cipher_in(transcript.connector_sealing) == Cipher::aes_256_gcm &&
                   cipher_in(transcript.listener_sealing) == Cipher::aes_256_gcm;
  const SealContext context{.connector_nonce = transcript.connector_nonce,
                            .listener_nonce = transcript.listener_nonce,
                            .version = transcript.version,
                            .stream_index = transcript.stream_index,
                            .cipher = aes ? Cipher::aes_256_gcm : Cipher::chacha20_poly1305};
  const auto keys = derive_seal_keys(key, context, connector);
  if (!keys) return keys.error();
  return std::optional<SealKeys>(*keys);
}

// Says what is wrong with the other side's sealing, as seen from this side; empty if the two agree.
std::string_view disagreement_of(std::uint8_t here, std::uint8_t there) {
  if (!is_known(there)) return "wants a kind of encryption that is not known here";
  if (wants(sealing_in(here)) && sealing_in(there) == Sealing::never) return kOnlyHere;
  return sealing_in(here) == Sealing::never && wants(sealing_in(there)) ? kOnlyThere : std::string_view();
}

}  // namespace

std::uint8_t said_of(Sealing sealing, Cipher cipher) {
  if (sealing == Sealing::never) return 0;
  return static_cast<std::uint8_t>(static_cast<unsigned>(sealing) | static_cast<unsigned>(cipher)
                                                                        << kCipherShift);
}

std::optional<std::uint16_t> other_version(std::span<const std::byte> message) {
  const auto same = [](std::byte b, char c) { return b == static_cast<std::byte>(c); };
  if (message.size() < kRefusalBytes || !std::ranges::equal(message.first<kVersionAt>(), kMagic, same)) {
    return std::nullopt;
  }
  const auto version = io::load_le<std::uint16_t>(message.data() + kVersionAt);
  return version == kStreamVersion ? std::nullopt : std::optional(version);
}

io::Error version_error(std::uint16_t theirs) {
  return handshake_error("speaks stream protocol " + std::to_string(theirs) + ", this side speaks " +
                             std::to_string(kStreamVersion) + ": install the same version on both",
                         io::ErrorKind::protocol);
}

std::array<std::byte, kRefusalBytes> version_refusal() {
  std::array<std::byte, kRefusalBytes> message{};
  std::ranges::transform(kMagic, message.begin(), [](char c) { return static_cast<std::byte>(c); });
  io::store_le(message.data() + kVersionAt, kStreamVersion);
  return message;
}

io::Result<Mac> listener_mac(const SessionKey& key, const Transcript& transcript) {
  return transcript_mac(key, kListenerLabel, transcript);
}

io::Result<Mac> connector_mac(const SessionKey& key, const Transcript& transcript) {
  return transcript_mac(key, kConnectorLabel, transcript);
}

Connector::Connector(const HandshakeTerms& terms, std::uint16_t stream_index)
    : terms_(terms), nonce_drawn_(draw(transcript_.connector_nonce)) {
  transcript_.stream_index = stream_index & kStreamIndexMax;
  transcript_.connector_sealing = said_of(terms.sealing);
}

std::array<std::byte, kHelloBytes> Connector::hello() const {
  std::array<std::byte, kHelloBytes> message{};
  std::ranges::transform(kMagic, message.begin(), [](char c) { return static_cast<std::byte>(c); });
  io::store_le(message.data() + kVersionAt, kStreamVersion);
  io::store_le(
      message.data() + kIndexAt,
      static_cast<std::uint16_t>(transcript_.stream_index | transcript_.connector_sealing << kSealingShift));
  std::ranges::copy(transcript_.connector_nonce, message.begin() + kNonceAt);
  return message;
}

io::Result<std::array<std::byte, kProofBytes>> Connector::answer(
    std::span<const std::byte, kChallengeBytes> challenge) const {
  if (!nonce_drawn_) return handshake_error("the system has no random bytes");
  const Transcript transcript = transcript_with(challenge);
  const auto key = key_for(transcript);
  if (!key) return key.error();
  if (auto proven = compare(listener_mac(*key, transcript), challenge.last<kMacBytes>()); !proven) {
    return proven.error();
  }
  const auto zeros = challenge.subspan<kZerosAt, kMacAt - kZerosAt>();
  const auto disagreement = disagreement_of(transcript.connector_sealing, transcript.listener_sealing);
  if (!disagreement.empty()) return handshake_error(disagreement);
  if (!std::ranges::all_of(zeros, [](std::byte b) { return b == std::byte{0}; })) {
    return handshake_error("uses something that this version does not know", io::ErrorKind::protocol);
  }
  return connector_mac(*key, transcript);
}

Transcript Connector::transcript_with(std::span<const std::byte, kChallengeBytes> challenge) const {
  Transcript transcript = transcript_;
  std::ranges::copy(challenge.first<kNonceBytes>(), transcript.listener_nonce.begin());
  std::ranges::copy(challenge.subspan<kSaltAt, kSaltBytes>(), transcript.salt.begin());
  transcript.listener_sealing = std::to_integer<std::uint8_t>(challenge[kListenerSealingAt]);
  return transcript;
}

io::Result<SessionKey> Connector::key_for(const Transcript& transcript) const {
  if (terms_.key_of) return terms_.key_of(transcript.salt);
  return terms_.key;
}

io::Result<std::optional<SealKeys>> Connector::seal_keys(
    std::span<const std::byte, kChallengeBytes> challenge) const {
  const Transcript transcript = transcript_with(challenge);
  const auto key = key_for(transcript);
  if (!key) return key.error();
  return keys_of(*key, transcript, true);
}

Listener::Listener(const HandshakeTerms& terms)
    : terms_(terms), nonce_drawn_(draw(transcript_.listener_nonce)) {
  transcript_.listener_sealing = said_of(terms.sealing);
  transcript_.salt = terms.salt;
}

io::Result<std::array<std::byte, kChallengeBytes>> Listener::challenge(
    std::span<const std::byte, kHelloBytes> hello, std::uint16_t stream_count) {
  challenged_ = false;
  if (!nonce_drawn_) return handshake_error("the system has no random bytes");
  const auto same = [](std::byte b, char c) { return b == static_cast<std::byte>(c); };
  if (!std::ranges::equal(hello.first<kVersionAt>(), kMagic, same)) {
    return handshake_error("does not speak rdcp", io::ErrorKind::protocol);
  }
  if (const auto theirs = other_version(hello)) return version_error(*theirs);
  const auto index = io::load_le<std::uint16_t>(hello.data() + kIndexAt);
  transcript_.stream_index = index & kStreamIndexMax;
  transcript_.connector_sealing = static_cast<std::uint8_t>(index >> kSealingShift);
  if (transcript_.stream_index >= stream_count) {
    return handshake_error(
        "asks for stream " + std::to_string(transcript_.stream_index) + " of " + std::to_string(stream_count),
        io::ErrorKind::protocol);
  }
  std::ranges::copy(hello.last<kNonceBytes>(), transcript_.connector_nonce.begin());
  const auto proof = listener_mac(terms_.key, transcript_);
  if (!proof) return proof.error();
  challenged_ = true;
  std::array<std::byte, kChallengeBytes> message{};
  std::ranges::copy(transcript_.listener_nonce, message.begin());
  std::ranges::copy(transcript_.salt, message.begin() + kSaltAt);
  message[kListenerSealingAt] = static_cast<std::byte>(transcript_.listener_sealing);
  std::ranges::copy(*proof, message.begin() + kMacAt);
  return message;
}

io::Result<void> Listener::check(std::span<const std::byte, kProofBytes> proof) const {
  if (!challenged_) return handshake_error("sends a proof before it was asked");
  if (auto proven = compare(connector_mac(terms_.key, transcript_), proof); !proven) return proven;
  if (!disagreement().empty()) return handshake_error(disagreement());
  return {};
}

std::string_view Listener::disagreement() const {
  if (!challenged_) return {};
  return disagreement_of(transcript_.listener_sealing, transcript_.connector_sealing);
}

io::Result<std::optional<SealKeys>> Listener::seal_keys() const {
  return keys_of(terms_.key, transcript_, false);
}

}  // namespace rdcp::net
