// The RDMA stream. The source writes a chunk straight into the target's slot (RDMA WRITE) and sends its frame
// behind it (SEND), as one list of work requests on one queue pair. There is no immediate data and no RDMA
// READ, so that iWARP works as InfiniBand and RoCE do.
//
// After the handshake the target's first message says where its slots lie:
//
//     0  magic "RDMR"            4  zero (u32)          8  address of slot 0 (u64)
//    16  slot bytes (u64)       24  slots (u32)        28  rkey (u32)
//
// Only frames follow it, and with iWARP beats: messages without bytes, which say that their sender is there,
// and nothing that would have to be sealed. The keys are proven before, and on a sealed stream this message
// is sealed, too. Sealed payloads are sent from and arrive in memory of their own, and are opened into the
// arena, which no device can reach.
#pragma once

#include <memory>

#include "io/arena.h"
#include "net/rdma/rdma_connect.h"
#include "net/stream/record_layer.h"
#include "net/stream/stream.h"

namespace rdcp::net {

// Registers the arena (on a sealed stream, the memory that stands between it and the wire) with the
// connection's protection domain, for remote writing only at the target. The ring and the arena must outlive
// the stream. If registering fails, the stream is shut from the start, with the cause.
std::unique_ptr<Stream> make_rdma_source(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena,
                                         RecordLayer record_layer = {});
std::unique_ptr<Stream> make_rdma_target(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena,
                                         RecordLayer record_layer = {});

}  // namespace rdcp::net
