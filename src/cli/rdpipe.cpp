// rdpipe: a pipeline of commands on several hosts. See rdpipe(1).

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agents/agent_run.h"
#include "cli/pipes/pipe_coordinator.h"
#include "cli/programs.h"
#include "cli/settings/settings.h"
#include "cli/text/exit_status.h"
#include "cli/text/process.h"
#include "cli/text/version.h"
#include "tree/agent/agent.h"
#include "tree/pipe/segment.h"

namespace {

// Runs one segment on this host, for the rdpipe that started this process.
int run_agent(const rdcp::cli::RemoteShell& shell) {
  const int signal_fd = rdcp::cli::signals_as_descriptor(rdcp::cli::Suspend::by_default);
  const mode_t umask = ::umask(0);
  const rdcp::tree::AgentEnd end = rdcp::tree::run_agent(
      rdcp::io::Fd(STDIN_FILENO), rdcp::io::Fd(STDOUT_FILENO),
      {.program_version = rdcp::cli::kVersion,
       .signal_fd = signal_fd,
       .umask = umask,
       .confinement = rdcp::cli::confinement(shell, rdcp::tree::Confinement::of_process),
       .run_segment = rdcp::tree::run_segment});
  if (!end.complete) ::_exit(rdcp::cli::kExitFiles);
  return rdcp::cli::kExitOk;
}

// Opens /dev/null in place of standard descriptors that are closed; what is opened next would be taken for
// them otherwise.
void fill_closed_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace

int rdcp::cli::rdpipe_main(int argc, char** argv) {
  rdcp::cli::set_up_process();
  const auto words = rdcp::cli::with_settings(argc, argv);
  if (!words) {
    return rdcp::cli::print_and_end("rdpipe", "", "rdpipe: " + words.error().message() + "\n",
                                    rdcp::cli::exit_status(words.error().kind));
  }
  const rdcp::cli::ParsedPipeline parsed = rdcp::cli::parse_pipeline_options(words->argc(), words->argv());
  if (parsed.exit_status) {
    return rdcp::cli::print_and_end("rdpipe", parsed.text_out, parsed.text_err, *parsed.exit_status);
  }
  rdcp::cli::prepare_to_copy();
  if (parsed.options.agent) return run_agent(parsed.options.copy.shell);

  // A terminal counts as no input.
  const bool have_input = ::fcntl(STDIN_FILENO, F_GETFD) >= 0 && ::isatty(STDIN_FILENO) == 0;
  fill_closed_descriptors();
  if (parsed.options.dry_run) {
    return rdcp::cli::print_and_end("rdpipe", rdcp::cli::describe_pipeline(parsed.options, have_input), "",
                                    rdcp::cli::kExitOk);
  }
  const int signal_fd = rdcp::cli::signals_as_descriptor(rdcp::cli::Suspend::by_default);
  // Ctrl-Z is ignored, because the hosts would give up a pipeline that is stopped here.
  ::signal(SIGTSTP, SIG_IGN);
  return rdcp::cli::PipeCoordinator(parsed.options, signal_fd).run(have_input);
}
