#include "net/crypto/pipe_key.h"

#include <openssl/evp.h>

#include <string>

#include "net/crypto/octets.h"

namespace rdcp::net {
namespace {

constexpr std::string_view kPipeLabel = "rdcp pipe";
constexpr std::uint64_t kCost = 16384;
constexpr std::uint64_t kBlocks = 8;
constexpr std::uint64_t kParallel = 1;
constexpr std::uint64_t kMemoryMax = 64 << 20;  // OpenSSL wants a limit; 16 MiB are used

const unsigned char* bytes_of(std::string_view text) {
  return to_read(std::as_bytes(std::span(text)));
}

io::Error refused() {
  return io::plain_error(io::ErrorKind::connection, "derive", "keys",
                         "OpenSSL does not provide scrypt and HMAC-SHA256 here");
}

io::Result<SessionKey> labelled(const SessionKey& master, std::string_view label) {
  SessionKey key{};
  std::size_t bytes = 0;
  const auto* made = EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, master.data(), master.size(),
                               bytes_of(label), label.size(), to_write(key), key.size(), &bytes);
  if (made == nullptr || bytes != key.size()) return refused();
  return key;
}

}  // namespace

io::Result<PipeKeys> derive_pipe_keys(std::string_view secret, const Salt& salt) {
  if (secret.empty()) return io::plain_error(io::ErrorKind::usage, "KEY", "", "is empty");
  std::string salted(kPipeLabel);
  salted.append(reinterpret_cast<const char*>(salt.data()), salt.size());
  SessionKey master{};
  const int derived = EVP_PBE_scrypt(secret.data(), secret.size(), bytes_of(salted), salted.size(), kCost,
                                     kBlocks, kParallel, kMemoryMax, to_write(master), master.size());
  if (derived != 1) return refused();
  const auto control = labelled(master, "control");
  if (!control) return control.error();
  const auto data = labelled(master, "data");
  if (!data) return data.error();
  return PipeKeys{*control, *data};
}

}  // namespace rdcp::net
