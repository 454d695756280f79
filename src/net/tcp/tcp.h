// The TCP stream. Each frame is followed by its payload, which is received straight into an aligned slot.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "io/arena.h"
#include "io/fd.h"
#include "net/stream/record_layer.h"
#include "net/stream/stream.h"
#include "net/tcp/tcp_connect.h"

namespace rdcp::net {

// One stream carries no more than this in a round trip: the kernel keeps 4 MiB for what was not acknowledged
// (tcp(7), tcp_wmem), of which its own accounts take a part.
inline constexpr double kTcpBytesPerRoundTrip = 2.5e6;

// A connection that a stream takes over. Its socket must be non-blocking and proven (tcp_connect.h). Where
// the listener's welcome is awaited, the source sends already, but nothing is taken from the peer before. The
// stream is lost if anything else comes, or nothing within kHandshakeTimeout.
struct TcpConnection {
  TcpConnection(io::Fd socket, std::optional<Mac> welcome = {})
      : socket(std::move(socket)), welcome(welcome) {}
  io::Fd socket;
  std::optional<Mac> welcome;
};

// The ring and, at the target, the arena must outlive the stream.
std::unique_ptr<Stream> make_tcp_source(io::Ring& ring, TcpConnection connection, const StreamShape& shape,
                                        RecordLayer record_layer = {},
                                        CongestionChoice choice = CongestionChoice::open);
std::unique_ptr<Stream> make_tcp_target(io::Ring& ring, TcpConnection connection, const StreamShape& shape,
                                        io::Arena& arena, RecordLayer record_layer = {});

}  // namespace rdcp::net
