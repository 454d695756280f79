#include "tree/pipe/command_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "io/retry.h"

namespace rdcp::tree {
namespace {

constexpr char kEndInput = 'i';
constexpr char kRelease = 'r';
// The time between SIGTERM and SIGKILL, the same as in Command::end().
constexpr int kGrace_ms = 1000;

// The functions up to keep_guard() run in the guard after fork, so they make only async-signal-safe calls.
// The guard executes no other program, so posix_spawn(3) is of no use here.

// Closes descriptors one by one if the kernel, or a sandbox, does not know close_range(2).
void close_all_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  constexpr rlim_t kLooked = 1 << 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = kLooked;
  for (int fd = first; fd < static_cast<int>(std::min(limit.rlim_cur, kLooked)); ++fd) ::close(fd);
}

// Keeps only these two descriptors, as 0 and 1.
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
    const ssize_t n = io::retry_eintr([&] { return ::read(0, &word, 1); });
    if (n > 0 && word == kEndInput) ::close(1);
    if (n > 0 && word == kRelease) ::_exit(0);
    if (n <= 0) break;
  }
  ::kill(-group, SIGTERM);
  ::kill(-group, SIGCONT);  // a stopped process takes SIGTERM only when it goes on
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
  ::setpgid(guard.pid_, group);  // the guard does the same; either may come first
  return guard;
}

// An error is ignored: the guard may have been killed with the group.
void CommandGuard::tell(char word) {
  (void)io::retry_eintr([&] { return ::send(socket_.get(), &word, 1, MSG_NOSIGNAL); });
}

void CommandGuard::end_input() {
  if (pid_ > 0) tell(kEndInput);
}

void CommandGuard::release() {
  if (pid_ <= 0) return;
  tell(kRelease);
  (void)io::retry_eintr([this] { return ::waitpid(pid_, nullptr, 0); });
  pid_ = -1;
  socket_.reset();
}

}  // namespace rdcp::tree
