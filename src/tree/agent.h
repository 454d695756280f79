// One side of a copy on one host: obeys a coordinator over a control channel. Runs as `rdcp --agent` behind
// ssh, or as a thread of the coordinator's own process.
#pragma once

#include <chrono>
#include <optional>

#include "io/fd.h"
#include "tree/message.h"
#include "tree/place.h"

namespace rdcp::tree {

// A peer that says nothing for this long is taken for dead.
inline constexpr std::chrono::seconds kSilenceMax{25};
inline constexpr std::chrono::milliseconds kProgressInterval{200};
inline constexpr std::chrono::seconds kBeatInterval{5};

// How an agent's life ended.
struct AgentEnd {
  bool complete = false;  // false: something of the job hangs in the kernel (a dead network filesystem), and
                          // only the end of the process can help
  std::optional<int> signal;           // that ended it
  bool aborted = false;                // the coordinator gave up
  std::optional<std::uint8_t> status;  // the coordinator's last word; none: it went away without one
  std::optional<Done> done;            // what became of the copy, if it came to its end
  double seconds = 0;                  // that the copy took
};

// Serves one job: until the coordinator says finish, goes away, stays silent for kSilenceMax, or a signal
// comes. All that the job holds is given back before it returns, if `complete`.
AgentEnd run_agent(io::Fd in, io::Fd out, const AgentPlace& place);

}  // namespace rdcp::tree
