#include "cli/launch/launcher.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <string_view>

#include "cli/options/shared_options.h"

namespace rdcp::cli {
namespace {

// The agent's home is where ssh would have begun, and / if that is missing. An address in SSH_CONNECTION
// would be this host's, which srun hands on with its environment.
constexpr const char* kBegin = "unset SSH_CONNECTION; cd 2>/dev/null || cd /; ";

// Each host has a step of its own. One for all of them starts 32 nodes in four fifths of the time, but srun
// gives the same input to all tasks of a step, joins what they say, and may end all when one fails.
//
// A step of one task that shares the job's node with all others (--overlap), whatever the job's own options
// and environment say. Without --unbuffered slurmstepd keeps what comes until its line ends (srun(1)), and
// our messages have no lines. GPUs are shared, too: --gres=none would contradict a job's SLURM_GPUS_PER_NODE.
constexpr auto kStepOptions = {"--overlap",    "--nodes=1",   "--ntasks=1",   "--ntasks-per-node=1",
                               "--chdir=/",    "--input=all", "--output=all", "--error=all",
                               "--unbuffered", "--mpi=none",  "--quiet"};

bool is_program(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

// True if execvp(3) would find the program.
bool is_there(const std::string& program) {
  if (program.find('/') != program.npos) return is_program(program);
  const char* const path = std::getenv("PATH");
  for (std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";;) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, end));
    if (is_program((folder.empty() ? "." : folder) + "/" + program)) return true;
    if (end == rest.size()) return false;
    rest.remove_prefix(end + 1);
  }
}

bool names_a_job(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("--jobid"); });
}

}  // namespace

std::vector<std::string> launcher_command(const RemoteShell& shell, const std::string& host,
                                          const std::string& line) {
  assert(shell.launcher != Launcher::rsh);
  std::vector<std::string> command{shell.rsh.front()};
  const auto append_users_options = [&] {
    command.insert(command.end(), shell.rsh.begin() + 1, shell.rsh.end());
  };
  if (shell.launcher == Launcher::srun) {
    command.insert(command.end(), kStepOptions.begin(), kStepOptions.end());
    append_users_options();
    command.push_back("--nodelist=" + host);
  } else {
    command.emplace_back("exec");
    append_users_options();
    command.insert(command.end(), {"-i", host, "--"});
  }
  command.insert(command.end(), {"/bin/sh", "-c", kBegin + line});
  return command;
}

std::string launcher_failure(const RemoteShell& shell) {
  switch (shell.launcher) {
    case Launcher::srun:
      return "srun could not start a step there; it has said why on standard error";
    case Launcher::kubectl:
      return "kubectl could not start a command there; it has said why on standard error";
    case Launcher::rsh:
      break;
  }
  return {};
}

io::Result<void> check_launcher(const RemoteShell& shell) {
  if (shell.launcher == Launcher::rsh) return {};
  const std::string& program = shell.rsh.front();
  const std::string option = "--launcher " + std::string(program_name(shell));
  if (!is_there(program)) {
    const std::string where = program.find('/') == program.npos ? "there is no " + program + " in PATH"
                                                                : program + " is not a program";
    return refuse(option, where + "; install it, or write its path: --launcher /PATH/" +
                              std::string(program_name(shell)));
  }
  const bool in_job = std::getenv("SLURM_JOB_ID") != nullptr || std::getenv("SLURM_JOBID") != nullptr;
  if (shell.launcher == Launcher::srun && !in_job && !names_a_job(shell.rsh)) {
    return refuse(
        option,
        "this is no job of Slurm: SLURM_JOB_ID is not set; run it in salloc or sbatch, or name a job of "
        "yours: --launcher 'srun --jobid=ID'");
  }
  return {};
}

}  // namespace rdcp::cli
