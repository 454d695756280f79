// The TCP stream. Each frame is followed by its payload, which is received straight into an aligned slot.
#pragma once

#include <memory>

#include "io/arena.h"
#include "io/fd.h"
#include "net/stream/record_layer.h"
#include "net/stream/stream.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::net {

// socket must be non-blocking and proven (tcp_connect.h). The ring and, at the target, the arena must outlive
// the stream.
std::unique_ptr<Stream> make_tcp_source(io::Ring& ring, io::Fd socket, const StreamShape& shape,
                                        RecordLayer record_layer = {},
                                        CongestionChoice choice = CongestionChoice::open);
std::unique_ptr<Stream> make_tcp_target(io::Ring& ring, io::Fd socket, const StreamShape& shape,
                                        io::Arena& arena, RecordLayer record_layer = {});

}  // namespace rdcp::net
