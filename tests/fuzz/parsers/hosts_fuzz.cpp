// Lists of hosts, which come from the command line, a file, Slurm or ClusterShell.
#include <set>

#include "cli/options/destination.h"
#include "cli/places/host_list.h"
#include "tests/fuzz/targets.h"

namespace rdcp::fuzz {

void fuzz_hosts(Bytes input) {
  const std::string_view list = text_of(input);
  const auto hosts = cli::expand_hosts(list);
  if (!hosts) {
    require(hosts.error().kind == io::ErrorKind::usage && !hosts.error().message().empty());
    return;
  }
  require(!hosts->empty() && hosts->size() <= cli::kHostsMax);
  require(std::set(hosts->begin(), hosts->end()).size() == hosts->size());
  for (const std::string& host : *hosts) {
    require(!host.empty());
    // What has been expanded stands for itself.
    require(host.front() == '@' || host.find_first_of("[],") == host.npos);
  }
  const auto locations = cli::locations_on(list, "path");
  if (!locations) return;  // a name that is no host's
  require(locations->size() == hosts->size());
  for (const cli::Location& location : *locations) {
    require(is_remote(location) && location.ssh_destination().front() != '-' && location.path == "path");
  }
}

}  // namespace rdcp::fuzz
