#include "cli/launch/agent_command.h"

#include <cassert>

#include "cli/launch/launcher.h"
#include "cli/launch/shell_quote.h"

namespace rdcp::cli {
namespace {

void append_ssh_options(const RemoteShell& shell, const Location& location,
                        std::vector<std::string>& command) {
  const auto append = [&](const char* option, const std::string& value) {
    command.emplace_back(option);
    command.push_back(value);
  };
  const unsigned port = location.port != 0 ? location.port : shell.ssh_port;
  if (port != 0) append("-p", std::to_string(port));
  for (const std::string& file : shell.identity_files) append("-i", file);
  if (!shell.ssh_config.empty()) append("-F", shell.ssh_config);
  for (const std::string& option : shell.ssh_options) append("-o", option);
}

}  // namespace

std::string quote_rdcp_path(std::string_view rdcp_path) {
  // A tilde-prefix must be unquoted up to its slash (POSIX, 2.6.1), so only names that need no quotes count.
  if (rdcp_path.starts_with('~')) {
    const std::size_t slash = rdcp_path.find('/');
    const std::string_view user = rdcp_path.substr(1, slash == rdcp_path.npos ? slash : slash - 1);
    if (slash != rdcp_path.npos && (user.empty() || shell_quote(user) == user)) {
      const std::string_view rest = rdcp_path.substr(slash + 1);
      return std::string(rdcp_path.substr(0, slash + 1)) + (rest.empty() ? "" : shell_quote(rest));
    }
  }
  return shell_quote(rdcp_path);
}

bool looks_around(const RemoteShell& shell) {
  const bool a_shell_reads_it = runs_ssh(shell) || shell.launcher != Launcher::rsh;
  return a_shell_reads_it && shell.rdcp_path.empty();
}

std::vector<std::string> configuration_command(const RemoteShell& shell, const Location& location) {
  std::vector<std::string> command = shell.rsh;
  append_ssh_options(shell, location, command);
  command.insert(command.end(), {"-G", "--", location.ssh_destination()});
  return command;
}

std::vector<std::string> agent_command(const RemoteShell& shell, const Location& location, const WayIn& way) {
  assert(location.kind == Location::Kind::remote && !shell.rsh.empty());
  const std::string program = shell.rdcp_path.empty() ? "rdcp" : quote_rdcp_path(shell.rdcp_path);
  std::string line = program + " --agent";
  for (const std::string& option : way.agent_options) line += " " + quote_option(option);
  if (looks_around(shell)) line = way_in(way);
  if (shell.launcher != Launcher::rsh)
    return launcher_command(shell, location.host, looks_around(shell) ? line : "exec " + line);

  std::vector<std::string> command{shell.rsh.front()};
  if (runs_ssh(shell)) {
    // These override an ssh_config that suits logins but not us. They come first, because for ssh the first
    // value counts.
    command.insert(command.end(), {"-x", "-oClearAllForwardings=yes", "-oRemoteCommand=none",
                                   "-oRequestTTY=no", "-oPermitLocalCommand=no"});
  }
  command.insert(command.end(), shell.rsh.begin() + 1, shell.rsh.end());
  if (runs_ssh(shell)) {
    append_ssh_options(shell, location, command);
    // "--" comes before the host, because otherwise ssh would read options after the host again.
    command.insert(command.end(), {"--", location.ssh_destination(), line});
  } else {
    command.insert(command.end(), {location.ssh_destination(), program, "--agent"});
    for (const std::string& option : way.agent_options) command.push_back(quote_option(option));
  }
  return command;
}

}  // namespace rdcp::cli
