#include "cli/options/known_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "cli/text/process.h"
#include "io/fd.h"
#include "io/named_place.h"
#include "io/write_all.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;

namespace {

bool is_null_device(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);  // the kernel's admin-guide/devices.txt
}

// Returns the descriptor of this process that the path of a list stands for, or nothing if it is another
// path.
std::optional<int> own_descriptor(const std::string& path) {
  return path == "-" ? STDIN_FILENO : io::own_descriptor(path);
}

using Fits = bool (*)(const struct stat&);

// Opens what fits; for root, anything else is returned as an O_PATH descriptor.
Result<io::Fd> open_known(const std::string& path, Fits fits) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  io::Fd file;
  if (::geteuid() == 0) {
    const auto place = io::find_named(path, true);
    if (!place) return place.error();
    file.reset(::openat(place->directory.get(), place->name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    // Anything else, such as a device, is not even opened.
    if (file && ::fstat(file.get(), &status) == 0 && fits(status))
      file.reset(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), kFlags));
  } else {
    file.reset(::open(path.c_str(), kFlags));
  }
  if (!file) return io::errno_error("open", path);
  return file;
}

Result<io::Fd> open_if(const std::string& path, Fits fits, const std::string& else_what) {
  auto file = open_known(path, fits);
  struct stat status {};
  if (file && ::fstat(file->get(), &status) != 0) return io::errno_error("open", path);
  if (file && !fits(status)) return io::plain_error(ErrorKind::file, "open", path, else_what);
  return file;
}

// Waits until something can be read, or the end has come. Returns false if the program is to end before.
bool wait_for_bytes(int fd) {
  constexpr int kLookEveryMs = 100;
  for (;;) {
    pollfd entry{fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, kLookEveryMs);
    if (end_is_asked_for()) return false;
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // read(2) says what is wrong
  }
}

Result<std::string> read_all(int fd, const std::string& name, std::size_t bytes_max) {
  std::string text;
  char bytes[16 << 10];
  for (;;) {
    if (!wait_for_bytes(fd))
      return io::plain_error(ErrorKind::interrupted, "read", name, "interrupted before its end");
    const long n = io::read_some(fd, bytes, sizeof bytes);
    if (n < 0) return io::errno_error("read", name);
    if (n == 0) return text;
    if (text.size() + static_cast<std::size_t>(n) > bytes_max) {
      return io::plain_error(ErrorKind::file, "read", name, "is too long");
    }
    text.append(bytes, static_cast<std::size_t>(n));
  }
}

}  // namespace

Result<io::Fd> open_known_file(const std::string& path, std::string_view instead) {
  return open_if(
      path, [](const struct stat& status) { return S_ISREG(status.st_mode); },
      "is not a regular file (" + std::string(instead) + ")");
}

Result<std::string> read_known_file(const std::string& path, std::size_t bytes_max) {
  const auto file = open_known_file(path, "only such a file is read");
  if (!file) return file.error();
  return read_opened(file->get(), path, bytes_max);
}

Result<std::string> read_opened(int fd, const std::string& path, std::size_t bytes_max) {
  return read_all(fd, path, bytes_max);
}

bool is_standard_input(const std::string& path) {
  return own_descriptor(path) == STDIN_FILENO;
}

bool is_read_once(const std::string& path) {
  struct stat status {};
  return own_descriptor(path) || (::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode));
}

Result<std::string> read_list(const std::string& path, std::size_t bytes_max) {
  if (const auto own = own_descriptor(path))
    return read_all(*own, *own == STDIN_FILENO ? "standard input" : path, bytes_max);
  const auto file = open_if(
      path,
      [](const struct stat& status) {
        return S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || is_null_device(status);
      },
      "is no list: neither a regular file nor a pipe");
  if (!file) return file.error();
  return read_all(file->get(), path, bytes_max);
}

}  // namespace rdcp::cli
