// Starting, awaiting and ending an agent behind ssh or what the user put in its place.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/location.h"
#include "cli/options.h"
#include "io/fd.h"
#include "io/result.h"

namespace rdcp::cli {

struct AgentProcess {
  pid_t pid = -1;
  io::Fd to;    // its stdin
  io::Fd from;  // its stdout
};

// Starts command[0], looked up in PATH, in our session and process group, with pipes for stdin and stdout and
// our stderr, or standard_error, the caller's, if it is not -1. Error (unreachable): it could not be executed
// here.
io::Result<AgentProcess> launch_agent(const std::vector<std::string>& command, int standard_error = -1);

// Waits at most `timeout` for the process to end. Its exit status, 128 + N when signal N ended it; none when
// it still runs. Once a status was returned the pid is not ours any more.
std::optional<int> wait_agent(pid_t pid, std::chrono::milliseconds timeout);

inline constexpr std::chrono::milliseconds kEndGrace{1000};

// Ends a process that wait_agent() has not yet seen end: SIGTERM, and SIGKILL after `grace`. Its exit status.
int end_agent(pid_t pid, std::chrono::milliseconds grace = kEndGrace);

// Why an agent did not speak as one, as an error of kind unreachable. status: as wait_agent() returned it,
// none when the process still runs; noise: what came instead of a hello (a profile's greeting), the first
// bytes suffice.
io::Error explain_launch_failure(const Options& options, const Location& location, std::optional<int> status,
                                 std::string_view noise);

}  // namespace rdcp::cli
