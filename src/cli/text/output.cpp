#include "cli/text/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "cli/text/human.h"
#include "io/fd.h"
#include "io/named_place.h"
#include "tree/fs/own_names.h"
#include "tree/fs/removal_permit.h"

namespace rdcp::cli {
namespace {

constexpr std::string_view kToStartOfLine = "\r";
constexpr std::string_view kEraseToEndOfLine = "\033[K";
constexpr std::string_view kEraseBelow = "\033[J";

// Threads append whole lines to it.
io::Fd& log_file() {
  static io::Fd file;
  return file;
}

struct Output {
  const io::NamedPlace& place;
  const std::string& path;  // as the user names it
};

io::Result<void> write_and_close(io::Fd file, const Output& to, std::string_view text) {
  if (const int code = io::write_all(file.get(), text); code != 0)
    return io::errno_error("write", to.path, code);
  if (file.close() != 0) return io::errno_error("close", to.path);
  return {};
}

// Writes into what has the name: a FIFO, a device, or a file that must stay the one that it is.
io::Result<void> write_into(const Output& to, std::string_view text) {
  constexpr int kFlags = O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  io::Fd file(::openat(to.place.directory.get(), to.place.name.c_str(), kFlags));
  if (!file) return io::errno_error("write", to.path);
  return write_and_close(std::move(file), to, text);
}

// Makes a file that gets the name once the text is in it.
io::Result<void> replace_file(const Output& to, std::string_view text, mode_t mode) {
  const int directory = to.place.directory.get();
  io::Fd file;
  const std::string name = tree::take_temporary_name(to.place.name, [&](const char* free) {
    file.reset(::openat(directory, free, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    return file.get();
  });
  if (name.empty()) return io::errno_error("write", to.path);
  auto done = write_and_close(std::move(file), to, text);
  if (done && tree::rename_own(directory, name, directory, to.place.name) != 0)
    done = io::errno_error("name", to.path);
  if (!done) (void)tree::remove_own(directory, name);
  return done;
}

bool is_of_names(int code) {
  return code == EACCES || code == EPERM || code == EROFS || code == EBUSY;
}

}  // namespace

io::Result<void> open_log(const std::string& path, mode_t umask) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const auto place = io::find_named(path, false);
  if (!place) return place.error();
  io::Fd file(::openat(place->directory.get(), place->name.c_str(), kFlags, 0666 & ~umask));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return io::errno_error("open", path);
  if (!S_ISREG(status.st_mode))
    return io::plain_error(io::ErrorKind::file, "open", path, "is not a regular file (2> writes elsewhere)");
  log_file() = std::move(file);
  return {};
}

void write_to_log(std::string_view text) {
  if (!log_file()) return;
  const std::string time = utc_now() + "  ";
  const std::string visible = io::visible_lines(text);
  std::string lines;
  for (std::string_view rest = visible; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    lines += time + std::string(line) + "\n";
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  (void)io::write_all(log_file().get(), lines);
}

io::Result<void> write_list(const std::string& path, std::string_view lines, mode_t umask) {
  const std::string text = io::visible_lines(lines);
  if (const auto own = io::own_descriptor(path)) {
    const int code = io::write_all(*own, text);
    return code == 0 ? io::Result<void>() : io::errno_error("write", path, code);
  }
  const auto place = io::find_named(path, true);
  if (!place) return place.error();
  struct stat status {};
  const bool exists =
      ::fstatat(place->directory.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISREG(status.st_mode)) return write_into({*place, path}, text);
  auto replaced = replace_file({*place, path}, text, 0666 & ~umask);
  // Where no name can be made or changed, as where a file is mounted, its content still can be.
  const bool only_as_it_is = !replaced && is_of_names(replaced.error().code);
  return exists && only_as_it_is && status.st_nlink == 1 ? write_into({*place, path}, text) : replaced;
}

io::Result<void> write_to_stdout(std::string_view text, const io::WriteWait& wait) {
  const int code = io::write_all(STDOUT_FILENO, io::visible_lines(text), wait);
  return code == 0 || code == ECANCELED ? io::Result<void>()
                                        : io::errno_error("write", "standard output", code);
}

void write_to_stderr(std::string_view text, const io::WriteWait& wait) {
  write_to_log(text);
  (void)io::write_all(STDERR_FILENO, io::visible_lines(text), wait);
}

void write_remark(std::string_view text, bool quiet) {
  if (quiet) return write_to_log(text);
  write_to_stderr(text);
}

void write_own_words(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) (void)io::write_all(STDERR_FILENO, part);
}

bool draw_lines(int terminal, const std::vector<std::string>& lines, std::size_t before) {
  pollfd ready{terminal, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return false;
  std::string text;
  for (const std::string& line : lines) {
    text += text.empty() ? "" : "\n";
    text += std::string(kToStartOfLine) + io::visible(line) + std::string(kEraseToEndOfLine);
  }
  if (before > lines.size()) text += kEraseBelow;
  if (lines.size() > 1)
    text += std::string(kToStartOfLine) + "\033[" + std::to_string(lines.size() - 1) + "A";
  return io::write_all(terminal, text) == 0;
}

}  // namespace rdcp::cli
