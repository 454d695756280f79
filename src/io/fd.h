// An owned file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace rdcp::io {

// Owns a descriptor, or none (-1). Move-only. The destructor ignores errors of close(2): if they matter, call
// close() and check its result.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  // Returns close(2)'s result, with errno set when it is -1. The descriptor is gone either way.
  [[nodiscard]] int close() { return ::close(release()); }

 private:
  int fd_ = -1;
};

}  // namespace rdcp::io
