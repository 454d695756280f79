// Shows a LyingDisk to the kernel as a mounted file system, by FUSE.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tests/lying/lying_disk.h"

struct fuse_session;

namespace rdcp::lying {

// Mounted for as long as it lives. One thread serves it, which must not look at the mount itself.
class Mount {
 public:
  // Returns nothing if it cannot be mounted; libfuse has said why on standard error. The disk outlives it.
  static std::unique_ptr<Mount> create(LyingDisk& disk, const std::string& point);
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount();

  int fd() const;
  // Takes one request and answers it. Returns false when the file system has been unmounted.
  bool serve();

 private:
  struct Buffer;
  Mount(LyingDisk& disk, fuse_session* session, std::string point);
  bool answer_here(char* request, std::size_t length);

  LyingDisk& disk_;
  fuse_session* session_;
  std::string point_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace rdcp::lying
