#include "cli/text/version.h"

#include <fmt/format.h>
#include <openssl/opensslv.h>
#include <rdcp_commit.h>  // the build makes it (scripts/lib/commit.cmake)
#include <xxhash.h>
#include <zstd.h>

#include "tree/messages/hello.h"

namespace rdcp::cli {

std::string version_text(std::string_view program) {
  return fmt::format(
      "{} {}\ncommit {}; protocol {}, which talks to {} and later; compiler {}\n"
      "RDMA (verbs), TCP, io_uring, Landlock, AES-256-GCM and ChaCha20-Poly1305 (OpenSSL {}), zstd {}, XXH3 "
      "(xxHash "
      "{}.{}.{})\n",
      program, kVersion, RDCP_COMMIT, tree::kProtocolVersion, tree::kOldestProtocol, __VERSION__,
      OPENSSL_VERSION_STR, ZSTD_VERSION_STRING, XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE);
}

}  // namespace rdcp::cli
