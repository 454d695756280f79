#include <cpuid.h>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include <type_traits>

#include "net/crypto/octets.h"
#include "net/crypto/wide_aes.h"

// The library's functions by their own names: by way of its table, a static program would hold the code for
// every algorithm and processor (12 MB). The shared library exports them.
extern "C" {
void aes_keyexp_256_enc_avx2(const void* key, void* rounds);
void aes_gcm_precomp_256_vaes_avx512(gcm_key_data* key);
std::remove_pointer_t<aes_gcm_enc_dec_t> aes_gcm_enc_256_vaes_avx512;
std::remove_pointer_t<aes_gcm_enc_dec_t> aes_gcm_dec_256_vaes_avx512;
std::remove_pointer_t<aes_gcm_init_t> aes_gcm_init_256_vaes_avx512;
std::remove_pointer_t<aes_gcm_enc_dec_update_t> aes_gcm_dec_256_update_vaes_avx512;
std::remove_pointer_t<aes_gcm_enc_dec_finalize_t> aes_gcm_dec_256_finalize_vaes_avx512;
}

namespace rdcp::net {

namespace {

// True if this processor and system have the instructions of these functions. clang 14 knows no name for VAES
// (CPUID leaf 7, ECX bit 9).
bool is_wide() {
  static const bool wide = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1u << 9)) != 0 &&
           __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }();
  return wide;
}

}  // namespace

// The key's rounds, and powers of the hash key.
struct WideAes::Schedule {
  gcm_key_data key;
};

std::unique_ptr<WideAes> WideAes::create(const SealKey& key) {
  if (!is_wide()) return nullptr;
  auto schedule = std::make_unique<Schedule>();
  aes_keyexp_256_enc_avx2(to_read(key), schedule->key.expanded_keys);
  aes_gcm_precomp_256_vaes_avx512(&schedule->key);
  return std::unique_ptr<WideAes>(new WideAes(std::move(schedule)));
}

WideAes::WideAes(std::unique_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}

WideAes::~WideAes() {
  OPENSSL_cleanse(schedule_.get(), sizeof *schedule_);
}

void WideAes::seal(const SealNonce& nonce, std::span<const std::byte> associated,
                   std::span<const std::byte> bytes, std::span<std::byte> to,
                   std::span<std::byte, kTagBytes> tag) const {
  gcm_context_data context;
  aes_gcm_enc_256_vaes_avx512(&schedule_->key, &context, to_write(to), to_read(bytes), bytes.size(),
                              to_read(nonce), to_read(associated), associated.size(), to_write(tag),
                              kTagBytes);
}

bool WideAes::open(const SealNonce& nonce, std::span<const std::byte> associated,
                   std::span<const std::byte> bytes, std::span<std::byte> to,
                   std::span<const std::byte, kTagBytes> tag) const {
  gcm_context_data context;
  Tag wanted;
  aes_gcm_dec_256_vaes_avx512(&schedule_->key, &context, to_write(to), to_read(bytes), bytes.size(),
                              to_read(nonce), to_read(associated), associated.size(), to_write(wanted),
                              kTagBytes);
  return CRYPTO_memcmp(wanted.data(), tag.data(), kTagBytes) == 0;
}

bool WideAes::copy_and_open(const SealNonce& nonce, std::span<const std::byte> bytes, std::span<std::byte> to,
                            std::span<const std::byte, kTagBytes> tag) const {
  const gcm_key_data* key = &schedule_->key;
  gcm_context_data context;
  Tag wanted;
  aes_gcm_init_256_vaes_avx512(key, &context, to_read(nonce), nullptr, 0);
  copy_in_pieces(bytes, to, [&](std::span<std::byte> piece) {
    aes_gcm_dec_256_update_vaes_avx512(key, &context, to_write(piece), to_read(piece), piece.size());
    return true;
  });
  aes_gcm_dec_256_finalize_vaes_avx512(key, &context, to_write(wanted), kTagBytes);
  return CRYPTO_memcmp(wanted.data(), tag.data(), kTagBytes) == 0;
}

}  // namespace rdcp::net
