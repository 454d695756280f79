// Takes what an agent says of addresses only where it is an address: it may become a word of a command, and
// is connected to.
#pragma once

#include <string_view>

#include "tree/messages/job.h"

namespace rdcp::tree {

// True for a numeric address, IPv4 or IPv6, which may have the %scope of an interface on another host.
bool is_address(std::string_view host);

// Takes out all hosts that are none. If none is left, no_tcp_because says so.
void keep_addresses(Reach& reach);

}  // namespace rdcp::tree
