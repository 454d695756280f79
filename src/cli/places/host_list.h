// Lists of hosts, as pdsh, Slurm and ClusterShell write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"

namespace rdcp::cli {

inline constexpr std::size_t kHostsMax = 16'384;

// How the user has named several hosts, until load_hosts() has found out which they are.
struct HostWords {
  std::string list;  // before the colon of DST, as "gpu[1-8]"; empty: one host, or those of `from`
  std::string from;  // --hosts: a file with a list, "-" or "slurm"; empty: none
  bool any() const { return !list.empty() || !from.empty(); }
};

// True if a host part of a location may stand for several hosts: it has a comma, a range in brackets, or
// begins with '@' (a group). "[::1]" is an address.
bool is_host_list(std::string_view host);

// Expands "gpu[001-064,070],cpu3": ranges in brackets keep the width of their first number ("[08-10]" is 08,
// 09, 10), may have a step ("[0-8/4]"), and a name may have several, the last of which turns fastest. A host
// that comes twice is kept once, where it came first. "@GROUP" is kept as it is.
//
// Errors (usage), with the list as their subject: an empty name, one with ':' or '/', a bracket without its
// other one, what is no range, a range that runs backwards, a name of more than 1,024 bytes, more than
// kHostsMax hosts.
io::Result<std::vector<std::string>> expand_hosts(std::string_view list);

}  // namespace rdcp::cli
