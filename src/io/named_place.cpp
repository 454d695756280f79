#include "io/named_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <deque>
#include <initializer_list>
#include <utility>

namespace rdcp::io {

namespace {

constexpr int kLinksMax = 40;  // the kernel's limit

void push_components(std::string_view path, std::deque<std::string>& pending) {
  std::deque<std::string> components;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    if (end != 0) components.emplace_back(path.substr(0, end));
    path.remove_prefix(end == path.npos ? path.size() : end + 1);
  }
  pending.insert(pending.begin(), components.begin(), components.end());
}

Fd open_start(std::string_view path) {
  return Fd(::open(path.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool may_follow(const struct stat& link) {
  const uid_t self = ::geteuid();
  return self != 0 || link.st_uid == self;
}

Result<std::string> read_link(const Fd& link, const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(link.get(), "", target, sizeof target);
  if (length < 0) return errno_error("open", path);
  return std::string(target, static_cast<std::size_t>(length));
}

// Leaves out what changes nothing, "//" and "/./". Where ".." leads to, and whether a slash may stand at the
// end, depends on what is there.
std::string without_empty_steps(std::string_view path) {
  std::string kept;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view step = path.substr(at, end - at);  // begins with its slash
    if ((step != "/" && step != "/.") || end == path.size()) kept += step;
    at = end;
  }
  return kept;
}

}  // namespace

Result<NamedPlace> find_named(const std::string& path, bool follow_last) {
  std::deque<std::string> pending;
  push_components(path, pending);
  Fd directory = open_start(path);
  for (int links = 0; directory && !pending.empty();) {
    const std::string name = std::exchange(pending.front(), {});
    pending.pop_front();
    const bool last = pending.empty();
    const Fd next(::openat(directory.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    const bool known = next && ::fstat(next.get(), &status) == 0;
    if (!known && !last) return errno_error("open", path);
    if (known && S_ISLNK(status.st_mode) && (!last || follow_last)) {
      if (!may_follow(status)) {
        return plain_error(ErrorKind::file, "open", path,
                           "leads through a symlink that belongs to another user");
      }
      if (++links > kLinksMax) return errno_error("open", path, ELOOP);
      auto target = read_link(next, path);
      if (!target) return target.error();
      if (target->starts_with('/')) directory = open_start("/");
      push_components(*target, pending);
      continue;
    }
    if (last) return NamedPlace{std::move(directory), name};
    directory.reset(::openat(directory.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!directory) return errno_error("open", path);
  return errno_error("open", path, EISDIR);
}

std::optional<int> own_descriptor(std::string_view given) {
  const std::string tidy = without_empty_steps(given);
  const std::string_view path = tidy;
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int number = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (wrong == std::errc() && end == digits.data() + digits.size() && number >= 0) return number;
  }
  return std::nullopt;
}

}  // namespace rdcp::io
