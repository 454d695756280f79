// The RDMA stream: the source writes a chunk straight into the target's slot (RDMA WRITE) and sends its frame
// behind it (SEND), as one list of work requests on one queue pair. No immediate data, no RDMA READ, so that
// iWARP works as InfiniBand and RoCE do.
//
// After the handshake the target's first message says where its slots lie:
//
//    0  magic "RDMR"    8  address of slot 0 (u64)    16  slot bytes (u64)    24  slots (u32)    28  rkey
//    (u32)
//
// then come frames alone. The keys are proven before, and where the stream is sealed, this message is, too.
// What is sealed departs from memory of its own, lands in such and is opened into the arena, which no device
// reaches.
#pragma once

#include <memory>

#include "io/arena.h"
#include "net/rdma/rdma_connect.h"
#include "net/stream/record_layer.h"
#include "net/stream/stream.h"

namespace rdcp::net {

// The arena is registered with the connection's protection domain, for remote writing at the target only; the
// ring and the arena outlive the stream. Where it can't be registered the stream is shut from the start, with
// the cause.
std::unique_ptr<Stream> make_rdma_source(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena,
                                         RecordLayer envelope = {});
std::unique_ptr<Stream> make_rdma_target(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena,
                                         RecordLayer envelope = {});

}  // namespace rdcp::net
