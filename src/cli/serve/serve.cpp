#include "cli/serve/serve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "cli/text/exit_status.h"
#include "cli/text/process.h"
#include "cli/text/version.h"
#include "net/crypto/file_sum.h"
#include "tree/agent/agent.h"
#include "tree/pipe/segment.h"

namespace rdcp::cli {

int serve_coordinator(bool landlock, std::string note) {
  const int signal_fd = signals_as_descriptor(Suspend::by_descriptor);
  const mode_t umask = ::umask(0);  // modes come from the source
  prepare_to_copy();
  const tree::AgentEnd end =
      tree::run_agent(io::Fd(STDIN_FILENO), io::Fd(STDOUT_FILENO),
                      {.program_version = kVersion,
                       .signal_fd = signal_fd,
                       .umask = umask,
                       .confinement = landlock ? tree::Confinement::of_process : tree::Confinement::none,
                       .has_rejoin_socket = true,
                       .note = std::move(note),
                       .standard = {.are_the_coordinators = true},
                       .run_segment = tree::run_segment});
  if (!end.complete) ::_exit(kExitFiles);
  return kExitOk;
}

std::string sum_line_of(const char* path) {
  const io::Fd fd(::open(path, O_RDONLY | O_CLOEXEC));
  const auto sum = net::sha256_of_file(fd.get());
  return sum ? *sum + "  " + path + "\n" : std::string();
}

}  // namespace rdcp::cli
