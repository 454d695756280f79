// Reads and writes whole ranges of a file by pread(2) and pwrite(2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdcp::io {

// Fills `into` from this offset on. Returns how many bytes were there, fewer only at the end of the file, or
// -1 with errno.
// enough: once so many bytes are there, a call that returned fewer than it was to has found the end. A
// regular file's reads are short for nothing else, but its size must be looked at afterwards.
ssize_t read_range(int fd, std::span<std::byte> into, std::uint64_t offset, std::size_t enough = SIZE_MAX);

// Writes all bytes. Returns 0 or an errno value; some may have been written then.
int write_range(int fd, std::span<const std::byte> bytes, std::uint64_t offset);

}  // namespace rdcp::io
