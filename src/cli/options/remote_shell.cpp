#include "cli/options/remote_shell.h"

#include <string_view>

namespace rdcp::cli {

bool runs_ssh(const RemoteShell& shell) {
  const std::string_view program = shell.rsh.front();
  return program.substr(program.rfind('/') + 1) == "ssh";
}

}  // namespace rdcp::cli
