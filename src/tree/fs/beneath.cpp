#include "tree/fs/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

namespace rdcp::tree {

namespace {

// openat2(2) fails with EAGAIN when a rename races with RESOLVE_BENEATH, and is then to be tried again.
constexpr int kRaceRetries = 64;

constexpr std::uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

int open_piece(int root, const std::string& piece, int flags, mode_t mode, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = resolve;
  for (int tries = 0;; ++tries) {
    const long fd = ::syscall(SYS_openat2, root, piece.c_str(), &how, sizeof how);
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN) || tries == kRaceRetries) return static_cast<int>(fd);
  }
}

io::Fd open_in_pieces(int root, std::string_view path, int flags, mode_t mode, std::uint64_t resolve) {
  io::Fd held;
  while (path.size() >= PATH_MAX) {
    const std::size_t cut = path.rfind('/', PATH_MAX - 1);
    if (cut == std::string_view::npos || cut == 0) {
      errno = ENAMETOOLONG;
      return {};
    }
    io::Fd next(open_piece(root, std::string(path.substr(0, cut)), O_PATH | O_DIRECTORY, 0, resolve));
    if (!next) return {};
    held = std::move(next);
    root = held.get();
    path.remove_prefix(cut + 1);
  }
  return io::Fd(open_piece(root, path.empty() ? "." : std::string(path), flags, mode, resolve));
}

}  // namespace

io::Fd open_beneath(int root, std::string_view path, int flags, mode_t mode) {
  return open_in_pieces(root, path, flags, mode, kBeneath);
}

io::Fd open_following(int root, std::string_view path, int flags) {
  return open_in_pieces(root, path, flags & ~O_NOFOLLOW, 0, RESOLVE_NO_MAGICLINKS);
}

std::string join_path(std::string_view parent, std::string_view name) {
  std::string joined;
  joined.reserve(parent.size() + name.size() + 1);
  joined += parent;
  if (!parent.empty() && !name.empty()) joined += '/';
  joined += name;
  return joined;
}

}  // namespace rdcp::tree
