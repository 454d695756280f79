// AES-256-GCM four blocks at a time, for processors with 512-bit vectors that have AES (VAES, VPCLMULQDQ). It
// makes the same bytes as OpenSSL, several times as fast as versions before 3.1, which have no such code.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "net/crypto/seal.h"

namespace rdcp::net {

class WideAes {
 public:
  // Returns null if this processor, or this build of rdcp, cannot do it.
  static std::unique_ptr<WideAes> create(const SealKey& key);
  ~WideAes();  // wipes the key

  // Seals `bytes` into `to`, which are the same or do not overlap.
  void seal(const SealNonce& nonce, std::span<const std::byte> associated, std::span<const std::byte> bytes,
            std::span<std::byte> to, std::span<std::byte, kTagBytes> tag) const;
  // Returns false if the tag does not match; nobody may use `to` then.
  bool open(const SealNonce& nonce, std::span<const std::byte> associated, std::span<const std::byte> bytes,
            std::span<std::byte> to, std::span<const std::byte, kTagBytes> tag) const;
  // As Opener::copy_and_open().
  bool copy_and_open(const SealNonce& nonce, std::span<const std::byte> bytes, std::span<std::byte> to,
                     std::span<const std::byte, kTagBytes> tag) const;

 private:
  struct Schedule;
  explicit WideAes(std::unique_ptr<Schedule> schedule);
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace rdcp::net
