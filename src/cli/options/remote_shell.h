// How rdcp is started on another host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdcp::cli {

struct RemoteShell {
  std::vector<std::string> rsh{"ssh"};  // the program and its arguments
  std::uint16_t ssh_port = 0;           // 0: ssh decides
  std::vector<std::string> identity_files;
  std::string ssh_config;  // empty: ssh decides
  std::vector<std::string> ssh_options;
  std::string rdcp_path = "rdcp";
};

// True if --rsh's program is called ssh (its basename), and so takes ssh's options.
bool runs_ssh(const RemoteShell& shell);

}  // namespace rdcp::cli
