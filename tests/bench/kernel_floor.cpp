// Makes the system calls that any careful tool has to make for a job, on all processors, and nothing besides:
// no protocol, no login, no sandbox. So its time is the floor for this kernel and these filesystems, and
// scripts/bench holds rdcp's against it.
//   floor stat A B             lists both trees and asks for the status of each entry
//   floor look A B             the same, and asks which extended attributes it has
//   floor read A B             the same, and reads and digests each file
//   floor copy A B             makes B as A is; each file gets its name once its content and times are there
//   floor stream FILE [TO]     sends a file over its own connection, digested at both ends, into TO if there
//   is
//                              one; - is standard output
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/digest.h"
#include "tree/meta/metadata.h"

namespace rdcp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr mode_t kPermissions = 07777;

using Buffer = std::vector<std::byte>;

// Returns what a system call gave. Ends the program if it failed.
template <class Number>
Number must(Number result, const char* call) {
  if (result >= 0) return result;
  fmt::print(stderr, "floor: {}: {}\n", call, std::strerror(errno));
  std::_Exit(1);
}

void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    bytes = bytes.subspan(static_cast<std::size_t>(must(write(fd, bytes.data(), bytes.size()), "write")));
  }
}

class Fd {
 public:
  explicit Fd(int fd, const char* call = "open") : fd_(must(fd, call)) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(fd_); }
  int get() const { return fd_; }

 private:
  const int fd_;
};

Fd open_directory(const fs::path& path) {
  return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY));
}

// The directories that are still to be seen, for as many threads as there are processors.
class Directories {
 public:
  using Work = std::function<void(const fs::path&, Buffer&)>;

  // Calls `work` for the root (an empty path), and for each directory that it adds.
  void share(const Work& work) {
    add({});
    std::vector<std::jthread> threads;
    for (unsigned i = std::max(1U, std::thread::hardware_concurrency()); i > 0; --i) {
      threads.emplace_back([&] {
        Buffer buffer(kPieceBytes);
        while (const auto path = next()) {
          work(*path, buffer);
          finish_one();
        }
      });
    }
  }
  void add(fs::path path) {
    const std::lock_guard lock(mutex_);
    ++unfinished_;
    waiting_.push_back(std::move(path));
    changed_.notify_one();
  }

 private:
  void finish_one() {
    const std::lock_guard lock(mutex_);
    if (--unfinished_ == 0) changed_.notify_all();
  }
  // None: all are done.
  std::optional<fs::path> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty() || unfinished_ == 0; });
    if (waiting_.empty()) return {};
    fs::path path = std::move(waiting_.back());
    waiting_.pop_back();
    return path;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<fs::path> waiting_;
  std::size_t unfinished_ = 0;
};

struct Named {
  std::string name;
  struct stat status;
};

// Lists an open directory: getdents(2), fstatat(2) for each name.
std::vector<Named> entries_of(int directory) {
  DIR* listing = fdopendir(must(dup(directory), "dup"));
  std::vector<Named> found;
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    Named& named = found.emplace_back(std::string(name));
    must(fstatat(directory, named.name.c_str(), &named.status, AT_SYMLINK_NOFOLLOW), "fstatat");
  }
  closedir(listing);
  return found;
}

// Reads a file that is open, in pieces; small ones in one call.
void read_all(int fd, Buffer& buffer, const std::function<void(std::span<const std::byte>)>& take) {
  ssize_t count;
  do {
    count = must(read(fd, buffer.data(), buffer.size()), "read");
    take(std::span(buffer).first(static_cast<std::size_t>(count)));
  } while (count == static_cast<ssize_t>(buffer.size()));
}

void read_file(const Named& entry, int directory, Buffer& buffer) {
  const Fd file(openat(directory, entry.name.c_str(), O_RDONLY | O_NOFOLLOW));
  must(flistxattr(file.get(), nullptr, 0), "flistxattr");
  io::RunningDigest digest;
  read_all(file.get(), buffer, [&](auto bytes) { digest.add(bytes); });
  digest.finish();
}

enum class Depth : std::uint8_t { status, attributes, contents };

void look(const fs::path& root, Depth depth) {
  Directories directories;
  directories.share([&](const fs::path& path, Buffer& buffer) {
    const Fd directory = open_directory(root / path);
    for (const Named& entry : entries_of(directory.get())) {
      if (S_ISDIR(entry.status.st_mode)) directories.add(path / entry.name);
      if (depth == Depth::contents && S_ISREG(entry.status.st_mode)) {
        read_file(entry, directory.get(), buffer);
      } else if (depth != Depth::status) {
        tree::may_have_xattrs(directory.get(), entry.name.c_str(), {});
      }
    }
  });
}

void copy_file(const Named& entry, int from, int to, Buffer& buffer) {
  const Fd source(openat(from, entry.name.c_str(), O_RDONLY | O_NOFOLLOW));
  must(flistxattr(source.get(), nullptr, 0), "flistxattr");
  const Fd target(openat(to, ".", O_TMPFILE | O_WRONLY, entry.status.st_mode & kPermissions));
  read_all(source.get(), buffer, [&](auto bytes) { write_all(target.get(), bytes); });
  const timespec times[] = {entry.status.st_atim, entry.status.st_mtim};
  must(futimens(target.get(), times), "futimens");
  if (linkat(target.get(), "", to, entry.name.c_str(), AT_EMPTY_PATH) == 0) return;
  // Before Linux 6.10 that takes CAP_DAC_READ_SEARCH.
  const std::string link = fmt::format("/proc/self/fd/{}", target.get());
  must(linkat(AT_FDCWD, link.c_str(), to, entry.name.c_str(), AT_SYMLINK_FOLLOW), "linkat");
}

void copy_entry(const Named& entry, int from, int to, Buffer& buffer) {
  if (S_ISREG(entry.status.st_mode)) return copy_file(entry, from, to, buffer);
  if (!S_ISLNK(entry.status.st_mode)) return;
  char text[PATH_MAX] = {};
  must(readlinkat(from, entry.name.c_str(), text, sizeof text - 1), "readlinkat");
  must(symlinkat(text, to, entry.name.c_str()), "symlinkat");
}

void copy(const fs::path& source, const fs::path& target) {
  umask(0);
  Directories directories;
  directories.share([&](const fs::path& path, Buffer& buffer) {
    must(mkdir((target / path).c_str(), 0700), "mkdir");
    const Fd from = open_directory(source / path), to = open_directory(target / path);
    must(flistxattr(from.get(), nullptr, 0), "flistxattr");
    for (const Named& entry : entries_of(from.get())) {
      if (S_ISDIR(entry.status.st_mode)) {
        directories.add(path / entry.name);
      } else {
        copy_entry(entry, from.get(), to.get(), buffer);
      }
    }
    struct stat status;
    must(fstat(from.get(), &status), "fstat");
    must(fchmod(to.get(), status.st_mode & kPermissions), "fchmod");
    const timespec times[] = {status.st_atim, status.st_mtim};
    must(futimens(to.get(), times), "futimens");
  });
}

void send_file(const char* path, sockaddr_in to) {
  const Fd file(open(path, O_RDONLY)), connection(socket(AF_INET, SOCK_STREAM, 0), "socket");
  must(connect(connection.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), "connect");
  Buffer buffer(kPieceBytes);
  read_all(file.get(), buffer, [&](auto bytes) {
    io::digest_of(bytes);
    while (!bytes.empty()) {
      bytes = bytes.subspan(
          static_cast<std::size_t>(must(send(connection.get(), bytes.data(), bytes.size(), 0), "send")));
    }
  });
}

void receive_file(int listening, const char* path) {
  const Fd connection(accept(listening, nullptr, nullptr), "accept");
  std::optional<Fd> file;
  if (path != nullptr) {
    const bool to_output = std::string_view(path) == "-";
    file.emplace(to_output ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
  }
  Buffer buffer(kPieceBytes);
  while (const auto count = static_cast<std::size_t>(
             must(recv(connection.get(), buffer.data(), buffer.size(), MSG_WAITALL), "recv"))) {
    const auto bytes = std::span(buffer).first(count);
    io::digest_of(bytes);
    if (file) write_all(file->get(), bytes);
  }
}

void stream(const char* source, const char* target) {
  const Fd listening(socket(AF_INET, SOCK_STREAM, 0), "socket");
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  must(bind(listening.get(), reinterpret_cast<sockaddr*>(&address), size), "bind");
  must(listen(listening.get(), 1), "listen");
  must(getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  const std::jthread sender([=] { send_file(source, address); });
  receive_file(listening.get(), target);
}

int run(const std::vector<const char*>& words) {
  const std::string_view job = words.empty() ? "" : words.front();
  if (job == "stream" && words.size() >= 2) return stream(words[1], words.size() > 2 ? words[2] : nullptr), 0;
  const std::array<std::string_view, 4> jobs{"stat", "look", "read", "copy"};
  if (words.size() != 3 || std::ranges::find(jobs, job) == jobs.end()) {
    fmt::print(stderr, "floor stat|look|read|copy A B, or floor stream FILE [TO]\n");
    return 2;
  }
  if (job == "copy") return copy(words[1], words[2]), 0;
  const Depth depth = job == "read" ? Depth::contents : job == "look" ? Depth::attributes : Depth::status;
  for (const char* root : {words[1], words[2]}) look(root, depth);
  return 0;
}

}  // namespace
}  // namespace rdcp

int main(int count, char** words) {
  return rdcp::run({words + 1, words + count});
}
