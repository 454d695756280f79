// Says what became of each host of a copy to several.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/layout/chain_watch.h"
#include "io/result.h"

namespace rdcp::cli {

class JsonReport;

// Returns "rdcp: 14 of 16 hosts have all", and a line for each of the others with its cause.
std::string host_lines(const std::vector<std::string>& names, const std::vector<HostOutcome>& outcomes);

// Returns the lines of --json=events for the hosts, and adds them to the last line.
std::string tell_hosts(const std::vector<std::string>& names, const std::vector<HostOutcome>& outcomes,
                       JsonReport& json);

// Writes the hosts that do not have all, one a line, for --hosts. umask: the user's. Error (file): it cannot
// be written.
io::Result<void> write_failed_hosts(const std::string& path, const std::vector<std::string>& names,
                                    const std::vector<HostOutcome>& outcomes, mode_t umask);

}  // namespace rdcp::cli
