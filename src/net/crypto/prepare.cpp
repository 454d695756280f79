#include "net/crypto/prepare.h"

#include <openssl/evp.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>

namespace rdcp::net {

bool prepare_crypto() {
  // OpenSSL 3.0 takes less than 1 MiB. With one thread nobody else can take what is free here.
  constexpr std::size_t kRoom = 4 << 20;
  void* const room = ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  ::munmap(room, kRoom);
  constexpr std::array<unsigned char, 1> kAny{};
  std::array<unsigned char, 32> mac{};
  std::size_t bytes = 0;
  // A build of OpenSSL without it is found out, and told, by the handshake.
  (void)EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, kAny.data(), kAny.size(), kAny.data(),
                  kAny.size(), mac.data(), mac.size(), &bytes);
  return true;
}

}  // namespace rdcp::net
