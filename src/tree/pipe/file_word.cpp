#include "tree/pipe/file_word.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "io/retry.h"
#include "tree/pipe/command.h"

namespace rdcp::tree {

namespace {

bool is_plain(std::string_view word) {
  constexpr std::string_view kPlain = "_./+:@%,=-";
  return !word.empty() && std::ranges::all_of(word, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80 || kPlain.find(c) != kPlain.npos;
  });
}

// Returns what the shell prints, and stops reading once that is longer than any name can be.
io::Result<std::string> printed_by_shell(const std::string& text, mode_t umask) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return io::errno_error("make", "a pipe");
  const io::Fd out(ends[0]);
  io::Fd in(ends[1]);
  const io::Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto command = Command::start(text, nothing.get(), in.get(), umask);
  if (!command) return command.error();
  in.reset();
  std::string printed;
  char bytes[PATH_MAX];
  for (;;) {
    const ssize_t n = io::retry_eintr([&] { return ::read(out.get(), bytes, sizeof bytes); });
    if (n <= 0 || printed.size() > PATH_MAX) return printed;
    printed.append(bytes, static_cast<std::size_t>(n));
  }
}

}  // namespace

io::Result<std::string> file_of_word(const std::string& word, mode_t umask) {
  if (is_plain(word)) return word;
  auto printed = printed_by_shell("printf '%s\\0' " + word, umask);
  if (!printed) return printed;
  const std::size_t end = printed->find('\0');
  if (end == 0 || end == printed->npos || end + 1 != printed->size()) {
    return io::plain_error(io::ErrorKind::file, "open", word, "is not the name of one file");
  }
  printed->pop_back();
  return printed;
}

}  // namespace rdcp::tree
