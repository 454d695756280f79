// rdcp: copies files and trees between hosts. See rdcp(1).

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "cli/coordinator.h"
#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/version.h"
#include "tree/agent.h"

namespace {

// Blocks the signals in this thread, and so in all that it starts, and hands them to a descriptor.
int signals_as_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Large trees need more descriptors than the soft limit of 1024 that shells start with.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  const rdcp::cli::Parsed parsed = rdcp::cli::parse_options(argc, argv);
  std::fputs(parsed.text_out.c_str(), stdout);
  std::fputs(parsed.text_err.c_str(), stderr);
  if (parsed.exit_status) return *parsed.exit_status;

  const int signal_fd = signals_as_descriptor();
  ::umask(0);  // modes come from the source
  raise_descriptor_limit();
  if (parsed.options.agent) {
    const bool ended =
        rdcp::tree::run_agent(rdcp::io::Fd(STDIN_FILENO), rdcp::io::Fd(STDOUT_FILENO),
                              {.program_version = rdcp::cli::kVersion, .signal_fd = signal_fd});
    if (!ended) ::_exit(rdcp::cli::kExitFiles);
    return rdcp::cli::kExitOk;
  }
  return rdcp::cli::Coordinator(parsed.options, signal_fd).run();
}
