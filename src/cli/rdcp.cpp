// rdcp: copies files and trees between hosts. See rdcp(1).

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/coordinator.h"
#include "cli/doctor.h"
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

bool same_place(const rdcp::cli::Location& a, const rdcp::cli::Location& b) {
  return a.kind == b.kind && a.user == b.user && a.host == b.host;
}

// One copy for each run of SRC on the same host; the status of the worst, or of the first that a signal
// ended.
int copy_all(const rdcp::cli::Options& options, int signal_fd) {
  int worst = rdcp::cli::kExitOk;
  auto begin = options.sources.begin();
  while (begin != options.sources.end() && worst < rdcp::cli::kExitSignalBase) {
    const auto end = std::find_if_not(begin, options.sources.end(),
                                      [&](const auto& source) { return same_place(source, *begin); });
    rdcp::cli::Options part = options;
    part.sources.assign(begin, end);
    part.into_directory = options.sources.size() > 1;
    worst = std::max(worst, rdcp::cli::Coordinator(part, signal_fd).run());
    begin = end;
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const rdcp::cli::Parsed parsed = rdcp::cli::parse_options(argc, argv);
  std::fputs(parsed.text_out.c_str(), stdout);
  std::fputs(parsed.text_err.c_str(), stderr);
  if (parsed.exit_status) return *parsed.exit_status;

  const int signal_fd = signals_as_descriptor();
  ::umask(0);  // modes come from the source
  // What the walker allocates the workers free: with a heap for each thread that piles up (mallopt(3)).
  ::mallopt(M_ARENA_MAX, 2);
  raise_descriptor_limit();
  if (parsed.options.agent) {
    const bool ended =
        rdcp::tree::run_agent(rdcp::io::Fd(STDIN_FILENO), rdcp::io::Fd(STDOUT_FILENO),
                              {.program_version = rdcp::cli::kVersion, .signal_fd = signal_fd});
    if (!ended) ::_exit(rdcp::cli::kExitFiles);
    return rdcp::cli::kExitOk;
  }
  if (parsed.options.doctor) return rdcp::cli::run_doctor(parsed.options, signal_fd);
  return copy_all(parsed.options, signal_fd);
}
