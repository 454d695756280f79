// What an agent does for a coordinator that is a stranger.
#pragma once

#include "tree/job.h"
#include "tree/place.h"

namespace rdcp::tree {

// What an OnlyTarget leaves of a job.
TargetJob held_to(const OnlyTarget& only, const TargetJob& asked);

}  // namespace rdcp::tree
