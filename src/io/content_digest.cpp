#include "io/content_digest.h"

#include <unistd.h>

#include <cerrno>
#include <span>

#include "io/retry.h"

namespace rdcp::io {

std::optional<Digest> digest_of_file(int fd, std::uint64_t size, std::vector<std::byte>& buffer,
                                     const std::function<bool()>& going) {
  constexpr std::size_t kBlockBytes = 256 << 10;
  buffer.resize(kBlockBytes);
  FileDigest digest;
  std::uint64_t offset = 0;
  for (;;) {
    std::size_t filled = 0;
    while (filled < kBlockBytes) {
      const ssize_t n = retry_eintr([&] {
        return ::pread(fd, buffer.data() + filled, kBlockBytes - filled, static_cast<off_t>(offset + filled));
      });
      if (n < 0) return std::nullopt;
      filled += static_cast<std::size_t>(n);
      if (n == 0 || (offset + filled == size && filled < kBlockBytes)) break;
    }
    if (filled > 0) digest.add(offset, filled, digest_of(std::span(buffer).first(filled)));
    offset += filled;
    if (filled < kBlockBytes) return digest.value();
    if (!going()) {
      errno = ECANCELED;
      return std::nullopt;
    }
  }
}

}  // namespace rdcp::io
