#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include "net/crypto/octets.h"
#include "net/crypto/wide_aes.h"

namespace rdcp::net {

namespace {

// Returns the library's table of functions for this processor, which lives as long as the process, or null if
// they are not wide. AES-GCM keeps nothing in it, so every thread may use it.
const IMB_MGR* functions() {
  static const IMB_MGR* const made = []() -> const IMB_MGR* {
    std::unique_ptr<IMB_MGR, decltype(&free_mb_mgr)> manager(alloc_mb_mgr(0), &free_mb_mgr);
    if (!manager) return nullptr;
    IMB_ARCH arch = IMB_ARCH_NONE;
    init_mb_mgr_auto(manager.get(), &arch);
    const bool wide = (manager->features & IMB_CPUFLAGS_AVX512_T2) == IMB_CPUFLAGS_AVX512_T2;
    return arch == IMB_ARCH_AVX512 && wide ? manager.release() : nullptr;
  }();
  return made;
}

}  // namespace

// The key's rounds, and powers of the hash key.
struct WideAes::Schedule {
  gcm_key_data key;
};

std::unique_ptr<WideAes> WideAes::create(const SealKey& key) {
  if (functions() == nullptr) return nullptr;
  auto schedule = std::make_unique<Schedule>();
  IMB_AES256_GCM_PRE(functions(), to_read(key), &schedule->key);
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
  IMB_AES256_GCM_ENC(functions(), &schedule_->key, &context, to_write(to), to_read(bytes), bytes.size(),
                     to_read(nonce), to_read(associated), associated.size(), to_write(tag), kTagBytes);
}

bool WideAes::open(const SealNonce& nonce, std::span<const std::byte> associated,
                   std::span<const std::byte> bytes, std::span<std::byte> to,
                   std::span<const std::byte, kTagBytes> tag) const {
  gcm_context_data context;
  Tag wanted;
  IMB_AES256_GCM_DEC(functions(), &schedule_->key, &context, to_write(to), to_read(bytes), bytes.size(),
                     to_read(nonce), to_read(associated), associated.size(), to_write(wanted), kTagBytes);
  return CRYPTO_memcmp(wanted.data(), tag.data(), kTagBytes) == 0;
}

}  // namespace rdcp::net
