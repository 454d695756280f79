#include "tree/agent/make_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "io/fd.h"

namespace rdcp::tree {
namespace {

constexpr int kHold = O_PATH | O_DIRECTORY | O_CLOEXEC;

// Returns no descriptor on failure, with errno set.
io::Fd enter(int parent, const std::string& name, mode_t mode) {
  io::Fd child(::openat(parent, name.c_str(), kHold));
  if (child || errno != ENOENT) return child;
  if (::mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST) return {};
  return io::Fd(::openat(parent, name.c_str(), kHold | O_NOFOLLOW));
}

}  // namespace

io::Result<void> make_path(const std::string& path, mode_t mode) {
  io::Fd at(::open(path.starts_with('/') ? "/" : ".", kHold));
  if (!at) return io::errno_error("make directory", path);
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) {
      io::Fd below = enter(at.get(), path.substr(begin, end - begin), mode);
      if (!below) return io::errno_error("make directory", path.substr(0, end));
      at = std::move(below);
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace rdcp::tree
