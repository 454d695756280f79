// The destination of a copy: one place, or the same path on several hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "cli/places/location.h"
#include "io/result.h"

namespace rdcp::cli {

// Returns the host part of a location that names several hosts ("gpu[1-8]" of "gpu[1-8]:/x"), or nothing.
std::string_view host_list_of(std::string_view word);

// Returns a location for each host of the list, with the path that follows the list's colon. A group
// ("@gpus") becomes a location with that for its host. Errors (usage): as expand_hosts() and
// parse_location().
io::Result<std::vector<Location>> locations_on(std::string_view list, std::string_view path);

// Takes DST. With --hosts it is ":PATH", and its hosts are read later (load_hosts()). Errors (usage): it
// makes no sense.
io::Result<void> take_destination(const std::string& word, Options& options);

// Returns all destinations.
std::vector<Location> targets_of(const Options& options);

// Refuses what several hosts cannot have. After all options and operands have been taken.
io::Result<void> check_hosts(const Options& options);

}  // namespace rdcp::cli
