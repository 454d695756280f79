#include "cli/launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "cli/launch/launcher.h"
#include "io/retry.h"

namespace rdcp::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Pipe {
  io::Fd read;
  io::Fd write;
};

io::Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return io::errno_error("make", "a pipe", errno, io::ErrorKind::unreachable);
  return Pipe{io::Fd(ends[0]), io::Fd(ends[1])};
}

// Blocks every signal while it lives, so that none of our handlers runs in a child that has not yet become
// another program (it would write to what parent and child share).
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// A child of Group::ours stays in the terminal's foreground process group, since from a background one ssh
// could not read a password from /dev/tty. So Ctrl-C reaches it, too; it ignores SIGINT, because the
// coordinator ends the agents in order: they remove their temporary files first. The same holds for the end
// of the terminal and SIGQUIT: an agent that sees ssh end waits for us to come back, and one that sees us end
// does not. Nor does Ctrl-Z stop it, because the message that the coordinator is stopped must still reach the
// agent. ssh leaves an ignored signal ignored (clientloop.c, as rsh did), and so does what it starts in turn
// (ProxyCommand); while it asks for a password it has handlers of its own, and SIGTERM, which end_agent()
// sends, makes it put the terminal's echo back.
void set_child_signals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;  // reserved by libc
    const bool handled = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (handled || number == SIGPIPE || number == SIGXFSZ) ::signal(number, SIG_DFL);
  }
  for (const int number : {SIGINT, SIGQUIT, SIGHUP, SIGTSTP}) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The descriptors and the group of a process that is started.
struct Place {
  int input;
  int output;
  int error;  // -1: ours
  Group group;
};

// Runs in the child between vfork(2) and exec, in our memory and with signal handlers and descriptors of its
// own, so it makes only async-signal-safe calls and keeps nothing; posix_spawn(3) has no attribute for a
// signal that is to be ignored, and ignoring it here for a moment would lose the user's Ctrl-C. Never
// returns; writes the errno of what went wrong to `report`, which closes by itself when the program starts.
[[noreturn]] void become(char* const* argv, const Place& place, int report) {
  // The descriptors are moved above 2 first: if we were started with stdin closed, a pipe's end may be
  // descriptor 0 or 1 itself.
  const int input = ::fcntl(place.input, F_DUPFD_CLOEXEC, 3);
  const int output = ::fcntl(place.output, F_DUPFD_CLOEXEC, 3);
  const int errors = ::fcntl(report, F_DUPFD_CLOEXEC, 3);
  const int told = place.error < 0 ? 2 : ::fcntl(place.error, F_DUPFD_CLOEXEC, 3);
  const bool grouped = place.group == Group::ours || ::setpgid(0, 0) == 0;
  if (grouped && input >= 0 && output >= 0 && errors >= 0 && told >= 0 && ::dup2(input, 0) >= 0 &&
      ::dup2(output, 1) >= 0 && (told == 2 || ::dup2(told, 2) >= 0)) {
    set_child_signals();
    ::execvp(argv[0], argv);
  }
  const int code = errno;
  // The parent sees end-of-file at worst, and then the exit status.
  [[maybe_unused]] const ssize_t written = ::write(errors, &code, sizeof code);
  ::_exit(127);
}

// Restores SIGCHLD: whoever started us may have left it ignored, and then wait(2) finds no exit status
// (POSIX, sigaction).
void keep_exit_statuses() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
}

// Returns the errno of the child's exec, or 0 if it succeeded.
int exec_error(const io::Fd& report) {
  int code = 0;
  const ssize_t got = io::retry_eintr([&] { return ::read(report.get(), &code, sizeof code); });
  return got == sizeof code ? code : 0;
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// Returns the first line of the noise, shortened to fit into a line of ours.
std::string first_line(std::string_view noise) {
  constexpr std::size_t kShown = 60;
  const std::size_t begin = noise.find_first_not_of("\r\n");
  if (begin == noise.npos) return "an empty line";
  const std::string_view line = noise.substr(begin, noise.find_first_of("\r\n", begin) - begin);
  return "\"" + std::string(line.substr(0, kShown)) + (line.size() > kShown ? "...\"" : "\"");
}

std::string explain_status(const RemoteShell& shell, int status) {
  const std::string path = shell.rdcp_path.empty() ? "rdcp" : "'" + shell.rdcp_path + "'";
  if (status == 127) {
    return path + " was not found there; " +
           (shell.rdcp_path.empty() ? "install rdcp there or name it with --rdcp-path"
                                    : "install it, or correct --rdcp-path, or rdcp-path in the settings");
  }
  if (status == 121) return "rdcp could not be put there; it has said why on standard error";
  if (status == 126) return path + " cannot be executed there; name another with --rdcp-path";
  if (const std::string why = launcher_failure(shell); status == 1 && !why.empty()) return why;
  if (status == 255 && runs_ssh(shell)) return "ssh could not connect; it has said why on standard error";
  if (status == 0) return path + " ended without an answer; is it rdcp?";
  if (status == 2) return path + " does not know --agent; it is not rdcp, or too old";
  if (status > 128 && status <= 128 + SIGRTMAX) return "signal " + std::to_string(status - 128) + " ended it";
  return "it ended with status " + std::to_string(status);
}

// Starts a program with these descriptors, which stay the caller's.
io::Result<pid_t> spawn(const std::vector<std::string>& command, const Place& place) {
  auto report = make_pipe();
  if (!report) return report.error();
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  keep_exit_statuses();
  pid_t pid = -1;
  {
    const SignalsBlocked blocked;
    pid = ::vfork();  // a copy of our page tables, and of pages written meanwhile, takes milliseconds
    if (pid == 0) become(argv.data(), place, report->write.get());
  }
  if (pid < 0) return io::errno_error("start", command[0], errno, io::ErrorKind::unreachable);

  report->write.reset();
  if (const int code = exec_error(report->read); code != 0) {
    end_agent(pid);
    return io::errno_error("start", command[0], code, io::ErrorKind::unreachable);
  }
  return pid;
}

}  // namespace

Group group_of(const RemoteShell& shell) {
  return shell.launcher == Launcher::srun ? Group::own : Group::ours;
}

io::Result<AgentProcess> launch_agent(const std::vector<std::string>& command, int standard_error,
                                      Group group) {
  auto input = make_pipe();
  if (!input) return input.error();
  auto output = make_pipe();
  if (!output) return output.error();
  const auto pid = spawn(command, {input->read.get(), output->write.get(), standard_error, group});
  if (!pid) return pid.error();
  return AgentProcess{.pid = *pid, .to = std::move(input->write), .from = std::move(output->read)};
}

io::Result<pid_t> launch_on(const std::vector<std::string>& command, int connection, int standard_error,
                            Group group) {
  return spawn(command, {connection, connection, standard_error, group});
}

std::optional<int> wait_agent(pid_t pid, milliseconds timeout) {
  // This asks again and again, more and more seldom, instead of polling a pidfd, because pidfd_open(2) is
  // refused in many containers (seccomp), and this wait comes once a run.
  constexpr std::chrono::microseconds kLongest{1000};
  const auto deadline = steady_clock::now() + timeout;
  for (std::chrono::microseconds interval{50};; interval = std::min(2 * interval, kLongest)) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return exit_status_of(status);
    if (steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(interval);
  }
}

int end_agent(pid_t pid, milliseconds grace) {
  ::kill(pid, SIGTERM);
  if (const auto status = wait_agent(pid, grace)) return *status;
  ::kill(pid, SIGKILL);
  int status = 0;
  (void)io::retry_eintr([&] { return ::waitpid(pid, &status, 0); });
  return exit_status_of(status);
}

io::Error explain_launch_failure(const RemoteShell& shell, const Location& location,
                                 std::optional<int> status, std::string_view noise) {
  // The status of the shell or of ssh counts more than the output that a profile may have printed.
  const bool shell_says = status == 126 || status == 127 || status == 255;
  std::string why;
  if (!noise.empty() && !shell_says) {
    why = first_line(noise) + " came from there instead of rdcp's hello";
    why += status.value_or(0) == 0
               ? "; shell profiles must print nothing when no terminal is there ('ssh HOST true')"
               : "; " + explain_status(shell, *status);
  } else {
    why = status ? explain_status(shell, *status) : "it does not answer";
  }
  return io::plain_error(io::ErrorKind::unreachable, "start rdcp on", location.ssh_destination(), why);
}

}  // namespace rdcp::cli
