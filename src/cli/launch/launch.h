// Starts, awaits and ends an agent's process: ssh, or what the user put in its place.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/remote_shell.h"
#include "cli/places/location.h"
#include "io/fd.h"
#include "io/result.h"

namespace rdcp::cli {

struct AgentProcess {
  pid_t pid = -1;
  io::Fd to;    // its stdin
  io::Fd from;  // its stdout
};

// The process group of what is started: ours, which may read from the terminal and gets its signals, or one
// of its own.
enum class Group : unsigned char { ours, own };

// Returns the group for this program: srun takes signals that it was started to ignore, such as Ctrl-C, all
// the same (sigwait(3)), and asks for no password.
Group group_of(const RemoteShell& shell);

// Starts command[0], looked up in PATH, in our session, with pipes for stdin and stdout. Its stderr is ours,
// or standard_error, which stays the caller's, if that is not -1. Error (unreachable): it could not be
// executed here.
io::Result<AgentProcess> launch_agent(const std::vector<std::string>& command, int standard_error = -1,
                                      Group group = Group::ours);

// Does the same with one connection, which stays the caller's, for both its stdin and its stdout. Returns the
// process.
io::Result<pid_t> launch_on(const std::vector<std::string>& command, int connection, int standard_error,
                            Group group = Group::ours);

// Waits at most `timeout` for the process to end. Returns its exit status, 128 + N if signal N ended it, or
// nothing if it still runs. Once a status was returned, the pid may belong to another process.
std::optional<int> wait_agent(pid_t pid, std::chrono::milliseconds timeout);

inline constexpr std::chrono::milliseconds kEndGrace{1000};
// How long ssh may take to end, and so to say how, after its connection has.
inline constexpr std::chrono::milliseconds kStatusMax{1000};

// Ends a process that wait_agent() has not yet seen end, by SIGTERM, and by SIGKILL after `grace`. Returns
// its exit status, as wait_agent() does.
int end_agent(pid_t pid, std::chrono::milliseconds grace = kEndGrace);

// Returns an error (unreachable) that says why an agent has sent no hello. status: what wait_agent()
// returned. noise: what came instead of a hello (a profile's greeting); its first bytes suffice.
io::Error explain_launch_failure(const RemoteShell& shell, const Location& location,
                                 std::optional<int> status, std::string_view noise);

}  // namespace rdcp::cli
