#include "net/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "net/little_endian.h"

namespace rdcp::net {
namespace {

constexpr std::string_view kMagic = "RDCP";
constexpr std::string_view kListenerLabel = "rdcp listener";
constexpr std::string_view kConnectorLabel = "rdcp connector";

constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kIndexAt = 6;
constexpr std::size_t kNonceAt = 8;

// A request of at most 256 bytes is never cut short by a signal once the pool is initialised (getrandom(2));
// before that it may be interrupted.
bool draw_random(std::span<std::byte> into) {
  ssize_t drawn = -1;
  do {
    drawn = ::getrandom(into.data(), into.size(), 0);
  } while (drawn < 0 && errno == EINTR);
  return drawn == static_cast<ssize_t>(into.size());
}

io::Error refusal(std::string_view detail, io::ErrorKind kind = io::ErrorKind::connection) {
  return io::plain_error(kind, "handshake with", "peer", detail);
}

io::Result<Mac> mac(const SessionKey& key, std::string_view label, const Transcript& transcript) {
  constexpr std::size_t kIntegerBytes = 4;
  std::array<std::byte, kConnectorLabel.size() + kIntegerBytes + 2 * kNonceBytes> message;
  const auto* text = reinterpret_cast<const std::byte*>(label.data());
  std::byte* end = std::copy(text, text + label.size(), message.data());
  store_le(end, transcript.version);
  store_le(end + 2, transcript.stream_index);
  end = std::ranges::copy(transcript.connector_nonce, end + kIntegerBytes).out;
  end = std::ranges::copy(transcript.listener_nonce, end).out;

  Mac result{};
  std::size_t bytes = 0;
  const auto* made = EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                               reinterpret_cast<const unsigned char*>(message.data()),
                               static_cast<std::size_t>(end - message.data()),
                               reinterpret_cast<unsigned char*>(result.data()), result.size(), &bytes);
  if (made == nullptr || bytes != result.size()) return refusal("OpenSSL does not provide HMAC-SHA256 here");
  return result;
}

io::Result<void> compare(const io::Result<Mac>& expected, std::span<const std::byte, kMacBytes> claimed) {
  if (!expected) return expected.error();
  if (CRYPTO_memcmp(expected->data(), claimed.data(), kMacBytes) != 0) {
    return refusal("does not hold this job's key");
  }
  return {};
}

}  // namespace

std::optional<std::uint16_t> other_version(std::span<const std::byte> message) {
  const auto same = [](std::byte b, char c) { return b == static_cast<std::byte>(c); };
  if (message.size() < kRefusalBytes || !std::ranges::equal(message.first<kVersionAt>(), kMagic, same)) {
    return std::nullopt;
  }
  const auto version = load_le<std::uint16_t>(message.data() + kVersionAt);
  return version == kProtocolVersion ? std::nullopt : std::optional(version);
}

io::Error version_error(std::uint16_t theirs) {
  return refusal("speaks stream protocol " + std::to_string(theirs) + ", this side speaks " +
                     std::to_string(kProtocolVersion) + ": install the same version on both",
                 io::ErrorKind::protocol);
}

std::array<std::byte, kRefusalBytes> version_refusal() {
  std::array<std::byte, kRefusalBytes> message{};
  std::ranges::transform(kMagic, message.begin(), [](char c) { return static_cast<std::byte>(c); });
  store_le(message.data() + kVersionAt, kProtocolVersion);
  return message;
}

io::Result<SessionKey> make_session_key() {
  SessionKey key;
  if (!draw_random(key)) return io::errno_error("draw", "session key");
  return key;
}

io::Result<Mac> listener_mac(const SessionKey& key, const Transcript& transcript) {
  return mac(key, kListenerLabel, transcript);
}

io::Result<Mac> connector_mac(const SessionKey& key, const Transcript& transcript) {
  return mac(key, kConnectorLabel, transcript);
}

Connector::Connector(const SessionKey& key, std::uint16_t stream_index)
    : key_(key), stream_index_(stream_index), nonce_drawn_(draw_random(nonce_)) {}

std::array<std::byte, kHelloBytes> Connector::hello() const {
  std::array<std::byte, kHelloBytes> message{};
  std::ranges::transform(kMagic, message.begin(), [](char c) { return static_cast<std::byte>(c); });
  store_le(message.data() + kVersionAt, kProtocolVersion);
  store_le(message.data() + kIndexAt, stream_index_);
  std::ranges::copy(nonce_, message.begin() + kNonceAt);
  return message;
}

io::Result<std::array<std::byte, kProofBytes>> Connector::answer(
    std::span<const std::byte, kChallengeBytes> challenge) const {
  if (!nonce_drawn_) return refusal("the system has no random bytes");
  Transcript transcript;
  transcript.stream_index = stream_index_;
  transcript.connector_nonce = nonce_;
  std::ranges::copy(challenge.first<kNonceBytes>(), transcript.listener_nonce.begin());
  if (auto proven = compare(listener_mac(key_, transcript), challenge.last<kMacBytes>()); !proven) {
    return proven.error();
  }
  return connector_mac(key_, transcript);
}

Listener::Listener(const SessionKey& key)
    : key_(key), nonce_drawn_(draw_random(transcript_.listener_nonce)) {}

io::Result<std::array<std::byte, kChallengeBytes>> Listener::challenge(
    std::span<const std::byte, kHelloBytes> hello, std::uint16_t stream_count) {
  challenged_ = false;
  if (!nonce_drawn_) return refusal("the system has no random bytes");
  const auto same = [](std::byte b, char c) { return b == static_cast<std::byte>(c); };
  if (!std::ranges::equal(hello.first<kVersionAt>(), kMagic, same)) {
    return refusal("does not speak rdcp", io::ErrorKind::protocol);
  }
  if (const auto theirs = other_version(hello)) return version_error(*theirs);
  transcript_.stream_index = load_le<std::uint16_t>(hello.data() + kIndexAt);
  if (transcript_.stream_index >= stream_count) {
    return refusal(
        "asks for stream " + std::to_string(transcript_.stream_index) + " of " + std::to_string(stream_count),
        io::ErrorKind::protocol);
  }
  std::ranges::copy(hello.last<kNonceBytes>(), transcript_.connector_nonce.begin());
  const auto proof = listener_mac(key_, transcript_);
  if (!proof) return proof.error();
  challenged_ = true;
  std::array<std::byte, kChallengeBytes> message;
  std::ranges::copy(transcript_.listener_nonce, message.begin());
  std::ranges::copy(*proof, message.begin() + kNonceBytes);
  return message;
}

io::Result<void> Listener::check(std::span<const std::byte, kProofBytes> proof) const {
  if (!challenged_) return refusal("sends a proof before it was asked");
  return compare(connector_mac(key_, transcript_), proof);
}

}  // namespace rdcp::net
