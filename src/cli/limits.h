// What limited a copy.
#pragma once

#include <string>

#include "tree/message.h"

namespace rdcp::cli {

// The stage that was busy most of the time, "target writes (3.70 GB/s)"; the network where no stage was.
// workers: threads on each side; slots: of each worker. Empty when nothing was copied.
std::string limited_by(const tree::Done& source, const tree::Done& target, double seconds, unsigned workers,
                       unsigned slots);

}  // namespace rdcp::cli
