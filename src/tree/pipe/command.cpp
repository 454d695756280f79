#include "tree/pipe/command.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "io/retry.h"

namespace rdcp::tree {

using Clock = std::chrono::steady_clock;

namespace {

// Returns the user's shell, much as sshd picks it for a command: $SHELL, else that of the user's passwd(5)
// entry, else /bin/sh.
std::string users_shell() {
  const char* shell = std::getenv("SHELL");
  if (shell != nullptr && shell[0] == '/') return shell;
  const passwd* entry = ::getpwuid(::getuid());
  if (entry != nullptr && entry->pw_shell != nullptr && entry->pw_shell[0] == '/') return entry->pw_shell;
  return "/bin/sh";
}

void restore_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child between fork and exec, so it makes only async-signal-safe calls. posix_spawn(3) has no
// attribute for the umask, and our own is that of all our threads.
[[noreturn]] void become(char* const* argv, int input, int output, mode_t umask) {
  ::setpgid(0, 0);
  // The descriptors are moved above 2 first, because one of them may be 0 or 1 itself.
  const int in = ::fcntl(input, F_DUPFD_CLOEXEC, 3);
  const int out = ::fcntl(output, F_DUPFD_CLOEXEC, 3);
  if (in >= 0 && out >= 0 && ::dup2(in, 0) >= 0 && ::dup2(out, 1) >= 0) {
    ::umask(umask);
    restore_signals();
    ::execv(argv[0], argv);
  }
  constexpr std::string_view kMessage = "rdcp: the shell cannot be executed\n";
  [[maybe_unused]] const ssize_t written = ::write(2, kMessage.data(), kMessage.size());
  ::_exit(127);
}

int status_of(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

}  // namespace

io::Result<std::unique_ptr<Command>> Command::start(const std::string& text, int input, int output,
                                                    mode_t umask, int feed) {
  std::unique_ptr<Command> command(new Command);
  auto ended = io::Event::create();
  if (!ended) return ended.error();
  command->ended_ = std::move(*ended);
  const std::string shell = users_shell();
  char* const argv[] = {const_cast<char*>(shell.c_str()), const_cast<char*>("-c"),
                        const_cast<char*>(text.c_str()), nullptr};
  ::signal(SIGCHLD, SIG_DFL);  // if whoever started us left it ignored, the status would be lost
  command->pid_ = ::fork();
  if (command->pid_ == 0) become(argv, input, output, umask);
  if (command->pid_ < 0) return io::errno_error("start", text);
  ::setpgid(command->pid_, command->pid_);  // the child does the same; either may come first
  auto guard = CommandGuard::start(command->pid_, feed);
  if (!guard) return guard.error();
  command->guard_.emplace(std::move(*guard));
  return command;
}

// WNOWAIT does not reap the child, and until it is reaped the number of its process group is surely ours.
io::Result<void> Command::watch() {
  auto waiter = io::Thread::start("a thread that waits for a command", [this] {
    siginfo_t info{};
    (void)io::retry_eintr([&] { return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT); });
    status_ = status_of(info);
    ended_.signal();
  });
  if (!waiter) return waiter.error();
  waiter_ = std::move(*waiter);
  return {};
}

Command::~Command() {
  if (pid_ <= 0) return;
  if (waiter_.joinable()) {
    if (ours_ || !status()) end();
    waiter_.join();
    reap();
  } else {
    kill_unwatched();
  }
}

std::optional<int> Command::status() const {
  const int status = status_;
  return status < 0 ? std::nullopt : std::optional(status);
}

bool Command::wait_for_end(Clock::time_point until) const {
  while (!status()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ended{ended_.fd(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(left.count()));
  }
  return true;
}

void Command::end(std::chrono::milliseconds grace) {
  if (reaped_) return;
  const auto until = Clock::now() + grace;
  ::kill(-pid_, SIGTERM);
  ::kill(-pid_, SIGCONT);  // a stopped process takes SIGTERM only when it goes on
  bool anybody_left = true;
  if (wait_for_end(until)) {
    reap();
    // The number stays the group's as long as any process is in it, and may be another group's after that.
    while ((anybody_left = ::kill(-pid_, 0) == 0) && Clock::now() < until) ::poll(nullptr, 0, 5);
  }
  if (anybody_left) ::kill(-pid_, SIGKILL);
  wait_for_end(Clock::now() + std::chrono::hours(1));  // a process may hang in the kernel for some time
  reap();
}

// Kills and reaps the command where no thread waits for its end.
void Command::kill_unwatched() {
  ::kill(-pid_, SIGKILL);
  reap();
  pid_ = -1;
}

void Command::reap() {
  if (reaped_) return;
  if (guard_) guard_->release();
  (void)io::retry_eintr([this] { return ::waitpid(pid_, nullptr, 0); });
  reaped_ = true;
}

}  // namespace rdcp::tree
