#include "tree/command_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace rdcp::tree {
namespace {

constexpr char kEndInput = 'i';
constexpr char kRelease = 'r';
// Between SIGTERM and SIGKILL, as Command::end() has it.
constexpr int kGrace_ms = 1000;

// In the guard, after fork: nothing but async-signal-safe calls from here on.

// Where close_range(2) is not known, or a sandbox does not know it: one by one.
void close_all_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  constexpr rlim_t kLooked = 1 << 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = kLooked;
  for (int fd = first; fd < static_cast<int>(std::min(limit.rlim_cur, kLooked)); ++fd) ::close(fd);
}

// Holds nothing but these two, at 0 and 1.
void keep_only(int socket, int input) {
  const int moved_socket = ::fcntl(socket, F_DUPFD, 3);
  const int moved_input = input >= 0 ? ::fcntl(input, F_DUPFD, 3) : -1;
  if (moved_socket < 0 || ::dup2(moved_socket, 0) < 0) ::_exit(1);
  ::close(1);
  if (moved_input >= 0 && ::dup2(moved_input, 1) < 0) ::_exit(1);
  close_all_from(2);
}

[[noreturn]] void keep_guard(pid_t group, int socket, int input) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setpgid(0, group);
  keep_only(socket, input);
  for (;;) {
    char word = 0;
    const ssize_t n = ::read(0, &word, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0 && word == kEndInput) ::close(1);
    if (n > 0 && word == kRelease) ::_exit(0);
    if (n <= 0) break;
  }
  ::kill(-group, SIGTERM);
  ::kill(-group, SIGCONT);  // what is stopped would not hear of it
  ::poll(nullptr, 0, kGrace_ms);
  ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

CommandGuard::CommandGuard(CommandGuard&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

io::Result<CommandGuard> CommandGuard::start(pid_t group, int input) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return io::errno_error("make", "a socket pair");
  }
  CommandGuard guard;
  guard.socket_.reset(ends[0]);
  const io::Fd its_end(ends[1]);
  guard.pid_ = ::fork();
  if (guard.pid_ == 0) keep_guard(group, its_end.get(), input);
  if (guard.pid_ < 0) return io::errno_error("start", "a guard of the command");
  ::setpgid(guard.pid_, group);  // whichever comes first, this or its own
  return guard;
}

// One that was killed with the group hears nothing.
void CommandGuard::tell(char word) {
  while (::send(socket_.get(), &word, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void CommandGuard::end_input() {
  if (pid_ > 0) tell(kEndInput);
}

void CommandGuard::release() {
  if (pid_ <= 0) return;
  tell(kRelease);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  socket_.reset();
}

}  // namespace rdcp::tree
