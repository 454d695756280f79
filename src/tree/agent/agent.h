// An agent: does its part of a job on one host, as a coordinator asks over a control channel. It runs as
// `rdcp --agent` behind ssh, or as a thread of the coordinator's own process.
#pragma once

#include <chrono>

#include "io/fd.h"
#include "tree/agent/agent_config.h"
#include "tree/messages/message.h"

namespace rdcp::tree {

// A peer that says nothing for this long is taken for dead.
inline constexpr std::chrono::seconds kSilenceMax{25};
inline constexpr std::chrono::milliseconds kProgressInterval{200};
inline constexpr std::chrono::seconds kBeatInterval{5};

// Serves one job until the coordinator says finish or abort, goes away, stays silent for kSilenceMax, or a
// signal comes. If the end is `complete`, all that the job held has been released.
AgentEnd run_agent(io::Fd in, io::Fd out, const AgentConfig& config);

}  // namespace rdcp::tree
