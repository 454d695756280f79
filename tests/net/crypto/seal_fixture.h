// Keys for tests, and bytes as text.
#pragma once

#include <array>
#include <string>

#include "net/crypto/handshake.h"
#include "net/crypto/seal.h"

namespace rdcp::net {

inline SealKeys test_keys(Cipher cipher, bool connector) {
  SessionKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  Nonce ours;
  Nonce theirs;
  ours.fill(std::byte{0xaa});
  theirs.fill(std::byte{0xbb});
  const SealContext context{
      .connector_nonce = ours, .listener_nonce = theirs, .version = 4, .stream_index = 3, .cipher = cipher};
  return derive_seal_keys(key, context, connector).value();
}

inline std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace rdcp::net
