// AES-256-GCM four blocks at a time, for processors with 512-bit vectors that have AES (VAES, VPCLMULQDQ):
// several times as fast as OpenSSL before 3.1, which has no such code, and the same bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "net/crypto/seal.h"

namespace rdcp::net {

class WideAes {
 public:
  // Null: not on this processor, or not with what rdcp was built with.
  static std::unique_ptr<WideAes> create(const SealKey& key);
  ~WideAes();  // wipes the key

  // From `bytes` to `to`, which are the same or do not overlap.
  void seal(const SealNonce& nonce, std::span<const std::byte> associated, std::span<const std::byte> bytes,
            std::span<std::byte> to, std::span<std::byte, kTagBytes> tag) const;
  // False: the tag is another; `to` then holds what nobody may use.
  bool open(const SealNonce& nonce, std::span<const std::byte> associated, std::span<const std::byte> bytes,
            std::span<std::byte> to, std::span<const std::byte, kTagBytes> tag) const;

 private:
  struct Schedule;
  explicit WideAes(std::unique_ptr<Schedule> schedule);
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace rdcp::net
