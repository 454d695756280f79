// The far end of a bridge: what one session of ssh carries goes to an agent on this host, and back.
#pragma once

#include <string>

namespace rdcp::cli {

// Connects to `at`, "ADDRESS,PORT" or the name of a socket (net/sockets/user_socket.h), and passes on what
// comes by standard input, and to standard output what comes from there, until both have ended. Returns the
// exit status: 0; 2, `at` makes no sense; 4, nobody listens there. landlock: whether the kernel holds this
// process to that one port.
int serve_bridge(const std::string& at, bool landlock);

}  // namespace rdcp::cli
