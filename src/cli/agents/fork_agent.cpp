#include "cli/agents/fork_agent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>
#include <vector>

#include "cli/text/exit_status.h"
#include "cli/text/process.h"
#include "tree/agent/agent.h"

namespace rdcp::cli {

namespace {

// Closes all descriptors but those kept. Before Linux 5.9 none is closed: the agent then holds open what its
// coordinator has opened before.
void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned next = 0;
  for (const int fd : kept) {
    if (fd < 0) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > next) (void)::close_range(next, number - 1, 0);
    next = std::max(next, number + 1);
  }
  (void)::close_range(next, UINT_MAX, 0);
}

// Moves a descriptor above the standard ones: if we were started with one of these closed, it may be that
// one.
bool move_up(io::Fd& fd) {
  fd.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  return bool(fd);
}

// Opens /dev/null in place of standard descriptors that are closed, so that nothing else gets their numbers.
void fill_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) ::close(fd);
}

// Runs in the copy. The control channel stays open if a part of the job hangs in the kernel, and closes with
// the process.
[[noreturn]] void serve(ForkedAgent agent, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitConnection);  // it ended before we could ask for the signal
  ::setsid();
  const bool moved = move_up(agent.control_in) && move_up(agent.control_out);
  if (!moved || ::dup2(agent.standard_error, STDERR_FILENO) < 0) ::_exit(kExitFiles);
  close_all_but({agent.control_in.get(), agent.control_out.get(), agent.config.standard.input,
                 agent.config.standard.output, STDERR_FILENO});
  fill_standard_descriptors();
  agent.config.signal_fd = signals_as_descriptor(Suspend::by_default);
  const tree::AgentEnd end =
      tree::run_agent(std::move(agent.control_in), std::move(agent.control_out), agent.config);
  ::_exit(end.complete ? kExitOk : kExitFiles);
}

}  // namespace

io::Result<pid_t> fork_agent(ForkedAgent agent) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) serve(std::move(agent), parent);
  if (pid < 0) return io::errno_error("start", "the local agent", errno, io::ErrorKind::unreachable);
  return pid;
}

}  // namespace rdcp::cli
