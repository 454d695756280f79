// Tells what limited a copy.
#pragma once

#include <cstdint>
#include <string>

#include "tree/messages/message.h"

namespace rdcp::cli {

struct CopyRun {
  double seconds = 0;
  unsigned workers = 0;                // threads on each side
  unsigned slots = 0;                  // of each worker
  std::uint64_t bytes_per_second = 0;  // the limit that the user has set; 0: none
};

// Returns the stage that was busy most of the time, as "target writes (3.70 GB/s)", "the network" if no stage
// was, or "--bwlimit" if the copy was as fast as that lets it be. The rate is that of the content that was
// sent. Returns "" for a copy that sent none, or took less than a second and so says little.
std::string limited_by(const tree::Done& source, const tree::Done& target, const CopyRun& run);

}  // namespace rdcp::cli
