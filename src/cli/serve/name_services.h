// The name services of a host that a static program does not ask.
#pragma once

#include <string>

namespace rdcp::cli {

// Returns what the user should know where /etc/nsswitch.conf (nsswitch.conf(5)), or the file that is named,
// has users or groups looked up elsewhere than in /etc/passwd and /etc/group: in "sss" or "ldap", for
// instance. Empty if it does not, or cannot be read. "systemd" does not count: it knows no owners of files.
std::string unasked_name_services(const char* path = "/etc/nsswitch.conf");

}  // namespace rdcp::cli
