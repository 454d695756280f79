#include "net/crypto/wide_aes.h"

namespace rdcp::net {

struct WideAes::Schedule {};

WideAes::WideAes(std::unique_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}
WideAes::~WideAes() = default;

std::unique_ptr<WideAes> WideAes::create(const SealKey& /*key*/) {
  return nullptr;
}

void WideAes::seal(const SealNonce& /*nonce*/, std::span<const std::byte> /*associated*/,
                   std::span<const std::byte> /*bytes*/, std::span<std::byte> /*to*/,
                   std::span<std::byte, kTagBytes> /*tag*/) const {}

bool WideAes::open(const SealNonce& /*nonce*/, std::span<const std::byte> /*associated*/,
                   std::span<const std::byte> /*bytes*/, std::span<std::byte> /*to*/,
                   std::span<const std::byte, kTagBytes> /*tag*/) const {
  return false;
}

bool WideAes::copy_and_open(const SealNonce& /*nonce*/, std::span<const std::byte> /*bytes*/,
                            std::span<std::byte> /*to*/,
                            std::span<const std::byte, kTagBytes> /*tag*/) const {
  return false;
}

}  // namespace rdcp::net
