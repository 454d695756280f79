// Copies to several hosts: one chain after the other, until each host has all or cannot have it.
#pragma once

#include <string>
#include <vector>

#include "cli/copy/copy_request.h"
#include "cli/layout/chain_watch.h"

namespace rdcp::cli {

// Copies to each of request.parties.start_targets. A host at which a chain has broken gets its copy alone, in
// the end. names: of the hosts, for messages. retries: how often those that could not be reached, or were
// lost, are tried again. outcomes: is told what became of each.
//
// Returns the exit status: 0 if every host has all; 1 if that is so for some of them, or some files are
// missing; what the hosts have in common, if none could be reached or copied to.
int copy_to_hosts(const CopyRequest& request, const std::vector<std::string>& names, int signal_fd,
                  unsigned retries, std::vector<HostOutcome>& outcomes);

}  // namespace rdcp::cli
