#include "tests/lying/mount.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tests/lying/requests.h"

namespace rdcp::lying {

struct Mount::Buffer {
  fuse_buf bytes{};
  ~Buffer() { std::free(bytes.mem); }
};

std::unique_ptr<Mount> Mount::create(LyingDisk& disk, const std::string& point) {
  std::array<std::string, 3> words{"lying_fs", "-o", "default_permissions,fsname=lying,subtype=lying"};
  std::array<char*, 3> pointers{words[0].data(), words[1].data(), words[2].data()};
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  const fuse_lowlevel_ops& calls = requests(disk.lies().flock != 0);
  fuse_session* session = fuse_session_new(&arguments, &calls, sizeof calls, &disk);
  fuse_opt_free_args(&arguments);
  if (session == nullptr) return nullptr;
  if (fuse_session_mount(session, point.c_str()) != 0) {
    fuse_session_destroy(session);
    return nullptr;
  }
  return std::unique_ptr<Mount>(new Mount(disk, session, point));
}

Mount::Mount(LyingDisk& disk, fuse_session* session, std::string point)
    : disk_(disk), session_(session), point_(std::move(point)), buffer_(std::make_unique<Buffer>()) {}

// Programs may still be in it; what they ask for fails from now on.
Mount::~Mount() {
  (void)::umount2(point_.c_str(), MNT_DETACH);
  fuse_session_unmount(session_);
  fuse_session_destroy(session_);
}

int Mount::fd() const {
  return fuse_session_fd(session_);
}

bool Mount::serve() {
  const int length = fuse_session_receive_buf(session_, &buffer_->bytes);
  if (length == -EINTR || length == -EAGAIN) return true;
  if (length <= 0) return false;
  if (!answer_here(static_cast<char*>(buffer_->bytes.mem), static_cast<std::size_t>(length))) {
    fuse_session_process_buf(session_, &buffer_->bytes);
  }
  return fuse_session_exited(session_) == 0;
}

// libfuse 3.14 does not know two requests that the kernel may make. The one to create a file without a name
// has the form of the one to create a file; the kernel sends "/" as its name, which no file can have.
bool Mount::answer_here(char* request, std::size_t length) {
  fuse_in_header header{};
  if (length < sizeof header) return false;
  std::memcpy(&header, request, sizeof header);
  if (header.opcode == FUSE_TMPFILE) {
    header.opcode = FUSE_CREATE;
    std::memcpy(request, &header, sizeof header);
    return false;
  }
  if (header.opcode != FUSE_SYNCFS) return false;
  disk_.sync_all();
  const fuse_out_header reply{.len = sizeof reply, .error = 0, .unique = header.unique};
  return ::write(fd(), &reply, sizeof reply) == static_cast<ssize_t>(sizeof reply);
}

}  // namespace rdcp::lying
