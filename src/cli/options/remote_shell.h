// How agents are started, most of all on another host.
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
  std::string rdcp_path;  // empty: it is looked for, and put there if it is not found
  bool shares =
      true;  // further sessions may use the connection of the first one, which takes a moment to prepare
  bool deploy = true;    // false with --no-deploy: nothing is put there
  bool landlock = true;  // false with --no-landlock: agents, on this host too, may do what their user may
};

inline constexpr const char* kNoLandlock = "--no-landlock";

// The word that stands for ssh itself in --via, in place of an address, interface or device.
inline constexpr const char* kViaSsh = "ssh";

inline constexpr const char* kNoDeploy = "--no-deploy";

// True if --rsh's program is called ssh (its basename), and so takes ssh's options.
bool runs_ssh(const RemoteShell& shell);

}  // namespace rdcp::cli
