#include "cli/text/process.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <new>

#include "cli/text/exit_status.h"
#include "cli/text/output.h"
#include "cli/text/report.h"
#include "net/crypto/prepare.h"

namespace rdcp::cli {

namespace {

// This must not allocate memory.
[[noreturn]] void tell_out_of_memory() {
  write_own_words({program_invocation_short_name,
                   ": out of memory (ulimit -v, or the limit of a container or service)\n"});
  ::_exit(kExitFiles);
}

}  // namespace

void set_up_process() {
  ::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(tell_out_of_memory);
}

int signals_as_descriptor(Suspend suspend) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM}) sigaddset(&signals, signal);
  if (suspend == Suspend::by_descriptor) sigaddset(&signals, SIGTSTP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const int fd = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  // Without a descriptor nobody would take the signals, so they are left to end the process.
  if (fd < 0) pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return fd;
}

int end_is_asked_for() {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM}) {
    if (::sigismember(&waiting, signal) == 1) return signal;
  }
  return 0;
}

void prepare_to_copy() {
  if (!net::prepare_crypto()) tell_out_of_memory();
  // The workers free what the walker allocates. With a heap for each thread that memory would pile up
  // (mallopt(3)).
  ::mallopt(M_ARENA_MAX, 2);
  // Large trees need more descriptors than the soft limit of 1024 that shells start with.
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, opening a file may fail, which is reported
}

int print_and_end(std::string_view program, std::string_view out, std::string_view err, int status) {
  const auto printed = write_to_stdout(out);
  write_to_stderr(err);
  if (printed) return status;
  write_to_stderr(error_line(printed.error(), program));
  return std::max(status, kExitFiles);
}

}  // namespace rdcp::cli
