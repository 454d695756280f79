// Runs a segment of a pipeline on its host: a command between two agents, or a file with one.
#pragma once

#include "tree/agent/agent_config.h"
#include "tree/messages/segment_job.h"
#include "tree/protocol/control.h"

namespace rdcp::tree {

// Serves the segment until the coordinator says finish or abort, goes away, stays silent for too long, or a
// signal comes. Nothing of it is left then, except, after finish, what a command that has ended left in the
// background. Returns false if an agent of it hangs in the kernel, so that only the end of the process can
// help.
bool run_segment(const SegmentJob& job, ControlChannel& control, const AgentConfig& config);

}  // namespace rdcp::tree
