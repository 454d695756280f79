#include "cli/options/remote_shell.h"

#include "cli/options/shared_options.h"
#include "cli/text/split_words.h"

namespace rdcp::cli {

std::string_view program_name(const RemoteShell& shell) {
  const std::string_view program = shell.rsh.front();
  return program.substr(program.rfind('/') + 1);
}

bool runs_ssh(const RemoteShell& shell) {
  return shell.launcher == Launcher::rsh && program_name(shell) == "ssh";
}

io::Result<void> set_launcher(const std::string& text, RemoteShell& shell) {
  auto words = split_words("--launcher", text);
  if (!words) return std::move(words).error();
  shell.rsh = std::move(*words);
  const std::string_view name = program_name(shell);
  if (name != "ssh" && name != "srun" && name != "kubectl") {
    return io::plain_error(io::ErrorKind::usage, "--launcher", shell.rsh.front(),
                           "must be one of ssh, srun, kubectl; another command is for --rsh");
  }
  shell.launcher = name == "srun" ? Launcher::srun : name == "kubectl" ? Launcher::kubectl : Launcher::rsh;
  return {};
}

io::Result<void> check_reachable(const RemoteShell& shell, const Location& location) {
  if (location.port != 0 && !runs_ssh(shell)) {
    return refuse("scp://HOST:PORT",
                  "is a port of ssh; write options of another command into --rsh or --launcher");
  }
  if (location.user.empty() || shell.launcher == Launcher::rsh) return {};
  return io::plain_error(
      io::ErrorKind::usage, "location", location.ssh_destination(),
      std::string(program_name(shell)) + " starts nothing as another user; leave out USER@");
}

}  // namespace rdcp::cli
