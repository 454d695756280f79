// Tells what limited a copy.
#pragma once

#include <string>

#include "tree/messages/message.h"

namespace rdcp::cli {

// Returns the stage that was busy most of the time, as "target writes (3.70 GB/s)", or the network if no
// stage was. workers: threads on each side; slots: slots of each worker. Returns "" if nothing was copied.
std::string limited_by(const tree::Done& source, const tree::Done& target, double seconds, unsigned workers,
                       unsigned slots);

}  // namespace rdcp::cli
