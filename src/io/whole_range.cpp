#include "io/whole_range.h"

#include <unistd.h>

#include <algorithm>

#include "io/retry.h"

namespace rdcp::io {

ssize_t read_range(int fd, std::span<std::byte> into, std::uint64_t offset, std::size_t enough) {
  std::size_t done = 0;
  while (done < std::min(into.size(), enough)) {
    const std::span<std::byte> rest = into.subspan(done);
    const ssize_t n =
        retry_eintr([&] { return ::pread(fd, rest.data(), rest.size(), static_cast<off_t>(offset + done)); });
    if (n < 0) return n;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

int write_range(int fd, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n =
        retry_eintr([&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return 0;
}

}  // namespace rdcp::io
