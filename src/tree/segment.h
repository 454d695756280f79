// A segment of a pipeline on its host: a command between two agents, or a file with one.
#pragma once

#include "tree/control.h"
#include "tree/place.h"
#include "tree/segment_job.h"

namespace rdcp::tree {

// Serves the segment until the coordinator says finish or abort, goes away, stays silent for too long, or a
// signal comes. Nothing of it is left then, but what a command that has ended well left in the background.
// False: an agent of it hangs in the kernel, and only the end of the process can help.
bool run_segment(const SegmentJob& job, ControlChannel& control, const AgentPlace& place);

}  // namespace rdcp::tree
