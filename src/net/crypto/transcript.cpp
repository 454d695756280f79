#include "net/crypto/transcript.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>

#include "io/bytes.h"
#include "io/retry.h"
#include "net/crypto/octets.h"

namespace rdcp::net {
namespace {

constexpr std::size_t kLabelMax = 32;

// A request of at most 256 bytes is never interrupted by a signal once the pool is initialised
// (getrandom(2)); before that it may be.
template <class Bytes>
io::Result<Bytes> draw(std::string_view what) {
  Bytes bytes;
  const ssize_t drawn = io::retry_eintr([&] { return ::getrandom(bytes.data(), bytes.size(), 0); });
  if (drawn != static_cast<ssize_t>(bytes.size())) return io::errno_error("draw", what);
  return bytes;
}

}  // namespace

io::Result<SessionKey> make_session_key() {
  return draw<SessionKey>("session key");
}

io::Result<Salt> make_salt() {
  return draw<Salt>("salt");
}

io::Result<Nonce> make_nonce() {
  return draw<Nonce>("nonce");
}

io::Result<Mac> transcript_mac(const SessionKey& key, std::string_view label, const Transcript& transcript) {
  constexpr std::size_t kIntegerBytes = 6;
  std::array<std::byte, kLabelMax + kIntegerBytes + kSaltBytes + 2 * kNonceBytes> message;
  if (label.size() > kLabelMax) return handshake_error("has a label that is too long");
  const auto* text = reinterpret_cast<const std::byte*>(label.data());
  std::byte* end = std::copy(text, text + label.size(), message.data());
  io::store_le(end, transcript.version);
  io::store_le(end + 2, transcript.stream_index);
  end[4] = static_cast<std::byte>(transcript.connector_sealing);
  end[5] = static_cast<std::byte>(transcript.listener_sealing);
  end = std::ranges::copy(transcript.salt, end + kIntegerBytes).out;
  end = std::ranges::copy(transcript.connector_nonce, end).out;
  end = std::ranges::copy(transcript.listener_nonce, end).out;

  Mac result{};
  std::size_t bytes = 0;
  const auto* made =
      EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(), to_read(message),
                static_cast<std::size_t>(end - message.data()), to_write(result), result.size(), &bytes);
  if (made == nullptr || bytes != result.size())
    return handshake_error("OpenSSL does not provide HMAC-SHA256 here");
  return result;
}

io::Result<void> compare(const io::Result<Mac>& expected, std::span<const std::byte, kMacBytes> claimed) {
  if (!expected) return expected.error();
  if (CRYPTO_memcmp(expected->data(), claimed.data(), kMacBytes) != 0) {
    return handshake_error("does not hold this job's key");
  }
  return {};
}

io::Error handshake_error(std::string_view detail, io::ErrorKind kind) {
  return io::plain_error(kind, "handshake with", "peer", detail);
}

}  // namespace rdcp::net
