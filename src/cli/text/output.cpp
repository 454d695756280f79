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

}  // namespace

io::Result<void> open_log(const std::string& path, mode_t umask) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  io::Fd file(::open(path.c_str(), kFlags, 0666 & ~umask));
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
  io::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666 & ~umask));
  if (!file) return io::errno_error("write", path);
  if (const int code = io::write_all(file.get(), io::visible_lines(lines)); code != 0)
    return io::errno_error("write", path, code);
  if (file.close() != 0) return io::errno_error("close", path);
  return {};
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
