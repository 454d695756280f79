// Finds out which hosts the user has named: from a file, from Slurm, or from ClusterShell's groups.
#pragma once

#include "cli/options/options.h"
#include "io/result.h"

namespace rdcp::cli {

// Puts the hosts of --hosts and of groups in DST into options.destination and further_destinations, each
// once. A file has lists of hosts (host_list.h) in lines; what follows '#' is a remark. "slurm" stands for
// the nodes of the job that this process runs in (SLURM_JOB_NODELIST), which scontrol expands; a group is
// expanded by nodeset. Does nothing for a DST on one host.
//
// Errors: a list that makes no sense, or is empty (usage); a file that cannot be read (file); a program that
// does not answer (unreachable).
io::Result<void> load_hosts(Options& options);

}  // namespace rdcp::cli
