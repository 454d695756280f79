// Files that vanish with the test.
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/fd.h"

namespace rdcp::io {

// A nameless file below `directory`; an empty Fd where that cannot be.
inline Fd temp_file(const std::string& directory) {
  return Fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

inline bool is_tmpfs(const std::string& directory) {
  struct statfs status;
  return ::statfs(directory.c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

// A directory on a disk; empty where the machine has none that we know.
inline std::string disk_directory() {
  for (const char* directory : {"/var/tmp", "/tmp", "."}) {
    if (!is_tmpfs(directory) && temp_file(directory)) return directory;
  }
  return {};
}

// A directory in memory; empty where the machine has none.
inline std::string memory_directory() {
  return is_tmpfs("/dev/shm") ? "/dev/shm" : "";
}

// Bytes of which no two pages are equal.
inline std::vector<std::byte> test_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::size_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

// All of `bytes` at `offset`; false when they are not all written.
inline bool put(int fd, std::span<const std::byte> bytes, off_t offset = 0) {
  return ::pwrite(fd, bytes.data(), bytes.size(), offset) == static_cast<ssize_t>(bytes.size());
}

}  // namespace rdcp::io
