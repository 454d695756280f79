// Sets TCP congestion control by the name that the user gave.
#pragma once

#include <string>

#include "io/result.h"

namespace rdcp::net {

// Makes the socket use it; an empty name keeps the system's default. Error (usage): this host's kernel does
// not have it, or does not let this user have it. The error names the host and the alternatives.
io::Result<void> set_congestion(int socket, const std::string& name);

// Returns true if the socket's congestion control takes each loss for a full queue (cubic, reno).
bool congestion_counts_losses(int socket);

// Checks the same as set_congestion() on a socket of its own, so that a wrong name is known before one host
// waits for the other.
io::Result<void> check_congestion(const std::string& name);

}  // namespace rdcp::net
