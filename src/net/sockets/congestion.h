// TCP congestion control by the name that the user gave it.
#pragma once

#include <string>

#include "io/result.h"

namespace rdcp::net {

// Makes the socket use it; an empty name leaves the system's. Error (usage): the kernel of this host does not
// have it, or does not let this user have it; it names the host and what there is instead.
io::Result<void> set_congestion(int socket, const std::string& name);

// The same for no socket in particular, so that it is known before a host waits for another.
io::Result<void> check_congestion(const std::string& name);

}  // namespace rdcp::net
