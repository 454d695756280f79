// Authenticated encryption of one direction of a connection: whatever was altered, repeated, left out or
// reordered on the way does not open.
//
// The keys of a connection, one for each direction, are
//
//   HKDF-SHA256(key: the session key, salt: connector's nonce | listener's nonce, info: "rdcp seal" |
//   version u16 | stream index u16 | cipher u8 | direction u8), 32 bytes
//
// where direction is 0 from the connector to the listener and 1 back. Both nonces are fresh, so no two
// connections have the same keys. Whatever is sealed in one direction is numbered from 0; its nonce is its
// part (u32) and its number (u64). Integers are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/result.h"
#include "io/secret.h"

struct evp_cipher_ctx_st;  // OpenSSL's EVP_CIPHER_CTX

namespace rdcp::net {

class WideAes;

enum class Cipher : std::uint8_t { aes_256_gcm = 1, chacha20_poly1305 = 2 };
constexpr Cipher first_of(Cipher) {
  return Cipher::aes_256_gcm;
}
constexpr Cipher last_of(Cipher) {
  return Cipher::chacha20_poly1305;
}

// True if this processor has instructions for AES and GCM. Without them ChaCha20-Poly1305 is faster, and
// takes the same time whatever the bytes are.
bool has_fast_aes();

inline constexpr std::size_t kTagBytes = 16;
using Tag = std::array<std::byte, kTagBytes>;
using SealKey = io::Secret<32>;
using SealNonce = std::array<std::byte, 12>;

// The parts that are sealed under one number: a frame and its payload, or a control message.
enum class SealPart : std::uint32_t { frame = 0, payload = 1, message = 2 };

// The limit of numbers for one key: far from what AES-GCM can take for chunks of 16 MiB.
inline constexpr std::uint64_t kSealsMax = std::uint64_t{1} << 32;

// The keys of a connection, as one of its two sides sees them.
struct SealKeys {
  Cipher cipher = Cipher::aes_256_gcm;
  SealKey sending{};
  SealKey receiving{};
};

// A key is derived from these and the session key.
struct SealContext {
  std::span<const std::byte> connector_nonce;
  std::span<const std::byte> listener_nonce;
  std::uint16_t version = 0;
  std::uint16_t stream_index = 0;
  Cipher cipher = Cipher::aes_256_gcm;
};
// Error (connection): OpenSSL refuses, as it may in a restricted configuration.
io::Result<SealKeys> derive_seal_keys(std::span<const std::byte> session_key, const SealContext& context,
                                      bool connector);

// Whose code runs the cipher; it makes no difference to the bytes.
enum class SealCode : std::uint8_t {
  fastest,  // WideAes if it is available
  openssl,
};

// The common part of Sealer and Opener. Movable; for one thread at a time.
class SealState {
 public:
  // Moves on to the next number. Error (connection): there have been kSealsMax.
  io::Result<void> next();
  std::uint64_t number() const { return number_; }

 protected:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const;
  };
  using Context = std::unique_ptr<evp_cipher_ctx_st, Free>;

  SealState();
  SealState(SealState&&) noexcept;
  SealState& operator=(SealState&&) noexcept;
  ~SealState();
  io::Result<void> set_up(Cipher cipher, const SealKey& key, std::uint64_t number, SealCode code,
                          bool encrypts);
  SealNonce nonce(SealPart part) const;
  bool begin(SealPart part, std::span<const std::byte> associated);

  std::unique_ptr<WideAes> wide_;
  Context context_;  // null if wide_ is used
  std::uint64_t number_ = 0;
};

class Sealer : public SealState {
 public:
  // number and code are for tests. Error (connection): OpenSSL refuses.
  static io::Result<Sealer> create(Cipher cipher, const SealKey& key, std::uint64_t number = 0,
                                   SealCode code = SealCode::fastest);
  // Seals `bytes` into `to`, which are the same or do not overlap, under the current number. `associated` is
  // authenticated with them. Error (connection): the part was sealed under this number before, or OpenSSL
  // refuses.
  io::Result<void> seal(SealPart part, std::span<const std::byte> bytes, std::span<std::byte> to,
                        std::span<std::byte, kTagBytes> tag, std::span<const std::byte> associated = {});
  // Seals in place.
  io::Result<void> seal(SealPart part, std::span<std::byte> bytes, std::span<std::byte, kTagBytes> tag,
                        std::span<const std::byte> associated = {}) {
    return seal(part, bytes, bytes, tag, associated);
  }
  io::Result<void> next();

 private:
  Sealer() = default;
  std::uint32_t parts_sealed_ = 0;
};

class Opener : public SealState {
 public:
  static io::Result<Opener> create(Cipher cipher, const SealKey& key, std::uint64_t number = 0,
                                   SealCode code = SealCode::fastest);
  // Opens `bytes` into `to`, which are the same or do not overlap. Returns false if they are not what was
  // sealed under this number as this part; nobody may use `to` then.
  bool open(SealPart part, std::span<const std::byte> bytes, std::span<std::byte> to,
            std::span<const std::byte, kTagBytes> tag, std::span<const std::byte> associated = {});
  // The same for `bytes` that somebody else may change meanwhile. open() may read a byte twice, to
  // authenticate it and to decrypt it; this reads each once. `to` does not overlap.
  bool copy_and_open(SealPart part, std::span<const std::byte> bytes, std::span<std::byte> to,
                     std::span<const std::byte, kTagBytes> tag);

 private:
  Opener() = default;
};

}  // namespace rdcp::net
