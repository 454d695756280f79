#include "net/rdma/rails.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rdcp::net {
namespace {

// A numeric address without its scope, which means nothing on the other host. Other text has no family.
struct IpAddress {
  int family = AF_UNSPEC;
  std::array<std::uint8_t, 16> bytes{};

  std::uint8_t bits() const { return family == AF_INET ? 32 : 128; }
  bool operator==(const IpAddress&) const = default;
};

IpAddress parse(const std::string& host) {
  const std::string plain = host.substr(0, host.find('%'));
  for (const int family : {AF_INET, AF_INET6}) {
    IpAddress address;
    if (::inet_pton(family, plain.c_str(), address.bytes.data()) != 1) continue;
    address.family = family;
    return address;
  }
  return {};
}

// fe80::/10 (RFC 4291).
bool is_link_local(const IpAddress& address) {
  return address.family == AF_INET6 && address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

bool same_leading_bits(const IpAddress& one, const IpAddress& other, std::uint8_t count) {
  const std::size_t whole = count / 8;
  if (!std::equal(one.bytes.begin(), one.bytes.begin() + whole, other.bytes.begin())) return false;
  const auto mask = static_cast<std::uint8_t>(0xff00 >> (count % 8));
  return mask == 0 || ((one.bytes[whole] ^ other.bytes[whole]) & mask) == 0;
}

bool is_same_port(const RdmaPort& one, const RdmaPort& other) {
  return one.device == other.device && one.port == other.port;
}

bool is_meant(const RdmaPort& port, const std::string& via) {
  if (via == port.device || via == port.interface || via == port.host) return true;
  const IpAddress wanted = parse(via);
  return wanted.family != AF_UNSPEC && via.find('%') == std::string::npos && wanted == parse(port.host);
}

// One port's address, with what is needed to pair it.
struct End {
  const RdmaPort* port;
  IpAddress address;
  bool meant;  // `via` names it, or is empty
};

std::vector<End> ends_of(const RdmaPorts& ports, const std::string& via) {
  std::vector<End> ends;
  for (const RdmaPort& port : ports.usable) {
    const IpAddress address = parse(port.host);
    if (address.family != AF_UNSPEC) ends.push_back({&port, address, via.empty() || is_meant(port, via)});
  }
  return ends;
}

// True if all link-local addresses on this kind of link belong to one port. Every link has the network
// fe80::/64, so the address alone does not say which port leads there.
bool link_local_is_clear(const std::vector<End>& ends, LinkKind link) {
  const RdmaPort* first = nullptr;
  for (const End& end : ends) {
    if (end.port->link != link || !is_link_local(end.address)) continue;
    if (first != nullptr && !is_same_port(*first, *end.port)) return false;
    first = end.port;
  }
  return true;
}

using PairTest = bool (*)(const End& connecting, const End& listening);

bool in_one_subnet(const End& one, const End& other) {
  if (is_link_local(one.address) != is_link_local(other.address)) return false;
  // If a prefix is not known, it counts as that of a single address.
  const auto prefix = [](const End& end) {
    const std::uint8_t known = end.port->prefix_bits != 0 ? end.port->prefix_bits : end.address.bits();
    return std::min(known, end.address.bits());
  };
  return same_leading_bits(one.address, other.address, std::max(prefix(one), prefix(other)));
}

bool may_be_routed(const End& one, const End& other) {
  return !is_link_local(one.address) && !is_link_local(other.address);
}

using Candidate = std::pair<const End*, const End*>;

std::vector<Candidate> candidates(const std::vector<End>& connecting, const std::vector<End>& listening,
                                  PairTest reaches) {
  std::vector<Candidate> found;
  for (const End& one : connecting) {
    for (const End& other : listening) {
      if (one.port->link != other.port->link || one.address.family != other.address.family) continue;
      if ((one.meant || other.meant) && reaches(one, other)) found.emplace_back(&one, &other);
    }
  }
  std::erase_if(found, [&](const Candidate& pair) {
    const LinkKind link = pair.first->port->link;
    return is_link_local(pair.first->address) &&
           !(link_local_is_clear(connecting, link) && link_local_is_clear(listening, link));
  });
  // The slower end sets the pace. Pairs of equal speed stay in the order of the ports, so that a host that
  // copies to itself pairs each port with itself.
  std::ranges::stable_sort(found, std::ranges::greater{}, [](const Candidate& pair) {
    return std::min(pair.first->port->megabits, pair.second->port->megabits);
  });
  return found;
}

Rail rail_of(const Candidate& pair) {
  Rail rail{*pair.first->port, *pair.second->port};
  if (is_link_local(pair.second->address)) {
    const std::string& own = rail.connecting.host;
    std::string& far = rail.listening.host;
    far = far.substr(0, far.find('%')) + own.substr(std::min(own.find('%'), own.size()));
  }
  return rail;
}

std::vector<Rail> rails_of(const std::vector<Candidate>& sorted) {
  std::vector<Rail> rails;
  for (const Candidate& pair : sorted) {
    const bool taken = std::ranges::any_of(rails, [&pair](const Rail& rail) {
      return is_same_port(rail.connecting, *pair.first->port) ||
             is_same_port(rail.listening, *pair.second->port);
    });
    if (!taken) rails.push_back(rail_of(pair));
  }
  return rails;
}

std::string missing_ports(const RdmaPorts& connecting, const RdmaPorts& listening) {
  const bool here = connecting.usable.empty(), there = listening.usable.empty();
  if (here && there && connecting.none_because == listening.none_because) {
    return "on both hosts: " + connecting.none_because;
  }
  std::string text;
  if (here) text = "on the connecting host: " + connecting.none_because;
  if (there) text += (here ? "; " : "") + ("on the listening host: " + listening.none_because);
  return text;
}

// Returns "rxe0 10.0.0.1 (RoCE), ...".
std::string listed(const std::vector<End>& ends) {
  constexpr std::size_t kNamedMax = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(ends.size(), kNamedMax); ++i) {
    const RdmaPort& port = *ends[i].port;
    text += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", port.device, port.host, describe(port.link));
  }
  if (ends.size() > kNamedMax) text += ", ...";
  return text;
}

std::string no_pair(const std::vector<End>& connecting, const std::vector<End>& listening,
                    const std::string& via) {
  const auto none_meant = [](const std::vector<End>& ends) {
    return std::ranges::none_of(ends, &End::meant);
  };
  if (none_meant(connecting) && none_meant(listening)) {
    return "neither host has a usable RDMA device, interface or address " + via;
  }
  const bool one_kind = std::ranges::any_of(connecting, [&listening](const End& one) {
    return std::ranges::any_of(listening,
                               [&one](const End& other) { return one.port->link == other.port->link; });
  });
  return fmt::format("{}: {} and {}", one_kind ? "no common subnet" : "no common kind of link",
                     listed(connecting), listed(listening));
}

}  // namespace

RailChoice choose_rails(const RdmaPorts& connecting, const RdmaPorts& listening, const std::string& via) {
  if (connecting.usable.empty() || listening.usable.empty()) {
    return {{}, missing_ports(connecting, listening)};
  }
  const std::vector<End> ours = ends_of(connecting, via);
  const std::vector<End> theirs = ends_of(listening, via);
  for (const PairTest reaches : {&in_one_subnet, &may_be_routed}) {
    if (auto rails = rails_of(candidates(ours, theirs, reaches)); !rails.empty()) {
      return {std::move(rails), {}};
    }
  }
  return {{}, no_pair(ours, theirs, via)};
}

}  // namespace rdcp::net
