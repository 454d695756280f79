#include "cli/text/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace rdcp::cli {
namespace {

constexpr std::string_view kToStartOfLine = "\r";
constexpr std::string_view kEraseToEndOfLine = "\033[K";

}  // namespace

io::Result<void> write_to_stdout(std::string_view text, const io::WriteWait& wait) {
  const int code = io::write_all(STDOUT_FILENO, io::visible_lines(text), wait);
  return code == 0 || code == ECANCELED ? io::Result<void>()
                                        : io::errno_error("write", "standard output", code);
}

void write_to_stderr(std::string_view text, const io::WriteWait& wait) {
  (void)io::write_all(STDERR_FILENO, io::visible_lines(text), wait);
}

void write_own_words(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) (void)io::write_all(STDERR_FILENO, part);
}

bool draw_line(int terminal, std::string_view line) {
  pollfd ready{terminal, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return false;
  const std::string text = std::string(kToStartOfLine) + io::visible(line) + std::string(kEraseToEndOfLine);
  return io::write_all(terminal, text) == 0;
}

}  // namespace rdcp::cli
