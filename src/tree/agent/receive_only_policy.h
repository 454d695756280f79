// Limits what an agent does for a coordinator that is a stranger.
#pragma once

#include "tree/agent/agent_config.h"
#include "tree/messages/job.h"

namespace rdcp::tree {

// Returns what a ReceiveOnlyPolicy leaves of a job.
TargetJob held_to(const ReceiveOnlyPolicy& only, const TargetJob& asked);

}  // namespace rdcp::tree
