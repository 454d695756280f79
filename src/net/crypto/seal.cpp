#include "net/crypto/seal.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <cassert>
#include <string_view>

#include "io/bytes.h"
#include "net/crypto/octets.h"
#include "net/crypto/wide_aes.h"

namespace rdcp::net {
namespace {

constexpr std::string_view kSealLabel = "rdcp seal";

io::Error refused(std::string_view what) {
  return io::plain_error(io::ErrorKind::connection, "seal", "connection",
                         "OpenSSL does not provide " + std::string(what) + " here");
}

OSSL_PARAM octets(const char* name, std::span<const std::byte> bytes) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<std::byte*>(bytes.data()), bytes.size());
}

bool hkdf(std::span<const std::byte> key, std::span<const std::byte> salt, std::span<const std::byte> info,
          SealKey& result) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                              &EVP_KDF_free);
  if (!kdf) return false;
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                          &EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 5> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0), octets(OSSL_KDF_PARAM_KEY, key),
      octets(OSSL_KDF_PARAM_SALT, salt), octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  return context && EVP_KDF_derive(context.get(), to_write(result), result.size(), parameters.data()) == 1;
}

}  // namespace

io::Result<SealKeys> derive_seal_keys(std::span<const std::byte> session_key, const SealContext& context,
                                      bool connector) {
  std::array<std::byte, 64> salt{};
  assert(context.connector_nonce.size() + context.listener_nonce.size() == salt.size());
  std::ranges::copy(context.listener_nonce, std::ranges::copy(context.connector_nonce, salt.begin()).out);

  std::array<std::byte, kSealLabel.size() + 6> info{};
  const auto* label = reinterpret_cast<const std::byte*>(kSealLabel.data());
  std::byte* at = std::copy(label, label + kSealLabel.size(), info.data());
  io::store_le(at, context.version);
  io::store_le(at + 2, context.stream_index);
  at[4] = static_cast<std::byte>(context.cipher);

  SealKeys keys{.cipher = context.cipher};
  for (const bool back : {false, true}) {
    at[5] = static_cast<std::byte>(back);
    SealKey& key = back == connector ? keys.receiving : keys.sending;
    if (!hkdf(session_key, salt, info, key)) return refused("HKDF-SHA256");
  }
  return keys;
}

void SealState::Free::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);  // this wipes the key
}

SealState::SealState() = default;
SealState::SealState(SealState&&) noexcept = default;
SealState& SealState::operator=(SealState&&) noexcept = default;
SealState::~SealState() = default;

io::Result<void> SealState::set_up(Cipher cipher, const SealKey& key, std::uint64_t number, SealCode code,
                                   bool encrypts) {
  number_ = number;
  if (cipher == Cipher::aes_256_gcm && code == SealCode::fastest) wide_ = WideAes::create(key);
  if (wide_) return {};
  const char* name = cipher == Cipher::aes_256_gcm ? "AES-256-GCM" : "ChaCha20-Poly1305";
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> fetched(
      EVP_CIPHER_fetch(nullptr, name, nullptr), &EVP_CIPHER_free);
  context_.reset(EVP_CIPHER_CTX_new());
  const bool made = fetched && context_ &&
                    EVP_CipherInit_ex2(context_.get(), fetched.get(), to_read(key), nullptr, encrypts ? 1 : 0,
                                       nullptr) == 1;
  if (!made) return refused(name);
  return {};
}

io::Result<void> SealState::next() {
  if (number_ + 1 >= kSealsMax) {
    return io::plain_error(io::ErrorKind::connection, "seal", "connection",
                           "too much has gone over it for one key");
  }
  ++number_;
  return {};
}

SealNonce SealState::nonce(SealPart part) const {
  SealNonce nonce;
  io::store_le(nonce.data(), static_cast<std::uint32_t>(part));
  io::store_le(nonce.data() + sizeof(std::uint32_t), number_);
  return nonce;
}

// For OpenSSL's code. The key schedule stays; only the nonce is set anew.
bool SealState::begin(SealPart part, std::span<const std::byte> associated) {
  int bytes = 0;
  return EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, to_read(nonce(part)), -1, nullptr) == 1 &&
         (associated.empty() || EVP_CipherUpdate(context_.get(), nullptr, &bytes, to_read(associated),
                                                 static_cast<int>(associated.size())) == 1);
}

io::Result<Sealer> Sealer::create(Cipher cipher, const SealKey& key, std::uint64_t number, SealCode code) {
  Sealer made;
  if (auto set = made.set_up(cipher, key, number, code, true); !set) return set.error();
  return made;
}

io::Result<void> Sealer::seal(SealPart part, std::span<const std::byte> bytes, std::span<std::byte> to,
                              std::span<std::byte, kTagBytes> tag, std::span<const std::byte> associated) {
  assert(to.size() == bytes.size());
  const std::uint32_t bit = 1u << static_cast<unsigned>(part);
  if ((parts_sealed_ & bit) != 0 || number_ >= kSealsMax) return refused("a nonce twice");
  parts_sealed_ |= bit;
  if (wide_) {
    wide_->seal(nonce(part), associated, bytes, to, tag);
    return {};
  }
  int done = 0;
  const bool sealed = begin(part, associated) &&
                      EVP_CipherUpdate(context_.get(), to_write(to), &done, to_read(bytes),
                                       static_cast<int>(bytes.size())) == 1 &&
                      EVP_CipherFinal_ex(context_.get(), to_write(to.last(0)), &done) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag.data()) == 1;
  if (!sealed) return refused("this cipher");
  return {};
}

io::Result<void> Sealer::next() {
  if (auto on = SealState::next(); !on) return on;
  parts_sealed_ = 0;
  return {};
}

io::Result<Opener> Opener::create(Cipher cipher, const SealKey& key, std::uint64_t number, SealCode code) {
  Opener made;
  if (auto set = made.set_up(cipher, key, number, code, false); !set) return set.error();
  return made;
}

bool Opener::open(SealPart part, std::span<const std::byte> bytes, std::span<std::byte> to,
                  std::span<const std::byte, kTagBytes> tag, std::span<const std::byte> associated) {
  assert(to.size() == bytes.size());
  if (wide_) return wide_->open(nonce(part), associated, bytes, to, tag);
  Tag copy;  // OpenSSL does not take const
  std::ranges::copy(tag, copy.begin());
  int done = 0;
  return begin(part, associated) &&
         EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, copy.data()) == 1 &&
         EVP_CipherUpdate(context_.get(), to_write(to), &done, to_read(bytes),
                          static_cast<int>(bytes.size())) == 1 &&
         EVP_CipherFinal_ex(context_.get(), to_write(to.last(0)), &done) == 1;
}

bool Opener::copy_and_open(SealPart part, std::span<const std::byte> bytes, std::span<std::byte> to,
                           std::span<const std::byte, kTagBytes> tag) {
  assert(to.size() == bytes.size());
  if (wide_) return wide_->copy_and_open(nonce(part), bytes, to, tag);
  Tag copy;  // OpenSSL does not take const
  std::ranges::copy(tag, copy.begin());
  int done = 0;
  const auto open_piece = [&](std::span<std::byte> piece) {
    return EVP_CipherUpdate(context_.get(), to_write(piece), &done, to_read(piece),
                            static_cast<int>(piece.size())) == 1;
  };
  return begin(part, {}) &&
         EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, copy.data()) == 1 &&
         copy_in_pieces(bytes, to, open_piece) &&
         EVP_CipherFinal_ex(context_.get(), to_write(to.last(0)), &done) == 1;
}

}  // namespace rdcp::net
