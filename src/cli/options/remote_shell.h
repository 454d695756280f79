// How agents are started, most of all on another host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/places/location.h"
#include "io/result.h"

namespace rdcp::cli {

// How the program that runs a command on another host is called.
enum class Launcher : unsigned char {
  rsh,      // as ssh(1): PROGRAM HOST COMMAND
  srun,     // Slurm's, for a step on one node of a job
  kubectl,  // for a command in a container of a pod
};

struct RemoteShell {
  std::vector<std::string> rsh{"ssh"};  // the program and its arguments
  Launcher launcher = Launcher::rsh;
  std::uint16_t ssh_port = 0;  // 0: ssh decides
  std::vector<std::string> identity_files;
  std::string ssh_config;  // empty: ssh decides
  std::vector<std::string> ssh_options;
  std::string rdcp_path;  // empty: it is looked for, and put there if it is not found
  // Further sessions may use the connection of the first one, which takes a moment to prepare.
  bool shares = true;
  bool deploy = true;    // false with --no-deploy: nothing is put there
  bool quiet = false;    // with -q: nothing is printed about what was put there
  bool landlock = true;  // false with --no-landlock: agents, on this host too, may do what their user may
};

inline constexpr const char* kNoLandlock = "--no-landlock";

// The word that stands for ssh itself in --via, in place of an address, interface or device.
inline constexpr const char* kViaSsh = "ssh";

inline constexpr const char* kNoDeploy = "--no-deploy";

// Returns the name of the program without its folder.
std::string_view program_name(const RemoteShell& shell);

// True if the program is called ssh, and so takes ssh's options.
bool runs_ssh(const RemoteShell& shell);

// Sets program and launcher from --launcher's value: ssh, srun or kubectl, or the path of one, and options
// for it. Error (usage): it is none of these.
io::Result<void> set_launcher(const std::string& text, RemoteShell& shell);

// Refuses a location with a port, which is ssh's, or with a user, for whom srun and kubectl start nothing.
io::Result<void> check_reachable(const RemoteShell& shell, const Location& location);

}  // namespace rdcp::cli
