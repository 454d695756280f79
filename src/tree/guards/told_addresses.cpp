#include "tree/guards/told_addresses.h"

#include <net/if.h>

#include <algorithm>
#include <string>

#include "net/sockets/sockets.h"

namespace rdcp::tree {
namespace {

// All that an address consists of. Before glibc 2.29 getaddrinfo(3) passes over what comes behind a space.
constexpr std::string_view kOfAddresses = "0123456789abcdefABCDEFxX.:";

bool is_of_scopes(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-@:+").find(c) != std::string_view::npos;
}

}  // namespace

bool is_address(std::string_view host) {
  const std::size_t sign = std::min(host.find('%'), host.size());
  const std::string_view number = host.substr(0, sign);
  if (number.empty() || number.find_first_not_of(kOfAddresses) != number.npos) return false;
  if (sign != host.size()) {
    const std::string_view scope = host.substr(sign + 1);
    const bool plain = std::ranges::all_of(scope, is_of_scopes);
    if (scope.empty() || scope.size() >= IFNAMSIZ || !plain || number.find(':') == number.npos) return false;
  }
  return bool(net::to_socket_address({std::string(number), 0}));
}

void keep_addresses(Reach& reach) {
  const bool dropped = std::erase_if(reach.hosts, [](const std::string& host) { return !is_address(host); });
  if (!dropped || !reach.hosts.empty()) return;
  reach.no_tcp_because = io::Words("none of the addresses that its agent tells is one");
}

}  // namespace rdcp::tree
