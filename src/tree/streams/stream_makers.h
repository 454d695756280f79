// Turns connections into makers of streams, from which workers make them on their own threads.
#pragma once

#include <functional>
#include <memory>

#include "io/result.h"
#include "net/rdma/rdma_connect.h"
#include "net/stream/compress.h"
#include "net/stream/memory_stream.h"
#include "net/stream/stream.h"
#include "net/tcp/tcp_connect.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// The form of all streams of one side of a job.
struct StreamForm {
  bool source = false;  // else the target
  net::StreamShape shape;
  net::Compression compress = net::kCompressOff;
  net::CongestionChoice congestion = net::CongestionChoice::open;
};

// Errors: as of RecordLayer::create(). Returns an empty maker for an empty socket.
io::Result<StreamMaker> maker_of(const StreamForm& form, net::ProvenSocket socket);
// prepare: see StreamMaker.
io::Result<StreamMaker> maker_of(const StreamForm& form, net::RdmaConnectionPtr connection,
                                 std::function<void()> prepare);
StreamMaker maker_of(const StreamForm& form, std::shared_ptr<net::MemoryChannel> channel);

}  // namespace rdcp::tree
