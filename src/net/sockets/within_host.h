// Connections by TCP that must not leave this host, although somebody else has said where they lead.
#pragma once

#include "io/fd.h"
#include "io/result.h"
#include "net/sockets/address.h"

namespace rdcp::net {

// Connects to an address of this host: a loopback one, or one that an interface has (getifaddrs(3)). The
// connection blocks, and has TCP_NODELAY. Errors: it is no numeric address (usage); it is another host's,
// which is not connected to, or nobody listens there (connection).
io::Result<io::Fd> connect_to_this_host(const Address& address);

}  // namespace rdcp::net
