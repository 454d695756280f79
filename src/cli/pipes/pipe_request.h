// The copy that moves the bytes between two neighbours of a pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/copy/copy_request.h"
#include "cli/options/options.h"
#include "cli/pipes/segment_link.h"
#include "io/result.h"
#include "net/sockets/address.h"

namespace rdcp::cli {

// Two neighbours. No segment stands for rdpipe's own standard input or output.
struct PipeNeighbours {
  SegmentLink* from = nullptr;
  SegmentLink* to = nullptr;

  // The names of their hosts, for messages.
  std::string from_name() const;
  std::string to_name() const;
};

// Returns the copy, and opens the segments' relays for it. own_address: by which other hosts reach this one,
// if that is known. port: on which the listening side listens; 0: any.
io::Result<CopyRequest> pipe_request(const Options& options, const PipeNeighbours& neighbours,
                                     const std::optional<net::Address>& own_address, std::uint16_t port);

}  // namespace rdcp::cli
