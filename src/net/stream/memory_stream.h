// A stream within one process, for copies from local to local and for tests.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "io/arena.h"
#include "net/stream/stream.h"

namespace rdcp::net {

// The queues that two memory streams share. Nothing else of them is touched by two threads. One channel
// serves one source and one target; each keeps it alive.
class MemoryChannel;
std::shared_ptr<MemoryChannel> make_memory_channel();

std::unique_ptr<Stream> make_memory_source(io::Ring& ring, std::shared_ptr<MemoryChannel> channel,
                                           const StreamShape& shape);
// Payloads are copied into the target's arena by the target's thread.
std::unique_ptr<Stream> make_memory_target(io::Ring& ring, std::shared_ptr<MemoryChannel> channel,
                                           const StreamShape& shape, io::Arena& arena);

// For tests, and to be set before the streams start. The tap is called on the target's thread with each frame
// and payload on its way to the target, and may change either; if the frame's length becomes longer than the
// payload, the rest of the slot stays as it is. If it returns false, the frame is dropped and the stream
// shut, as if the connection were cut.
using MemoryTap = std::function<bool(Frame&, std::span<std::byte>)>;
void set_tap(MemoryChannel& channel, MemoryTap tap);

}  // namespace rdcp::net
