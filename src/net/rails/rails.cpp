#include "net/rails/rails.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
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

bool is_meant(const RdmaPort& port, const std::string& via) {
  if (via == port.device || via == port.name() || via == port.interface || via == port.address()) return true;
  const IpAddress wanted = parse(via);
  return wanted.family != AF_UNSPEC && via.find('%') == std::string::npos && wanted == parse(port.address());
}

// One port's address, with what is needed to pair it.
struct End {
  const RdmaPort* port;
  IpAddress address;
  bool meant;  // `via` names it, or is empty
};

constexpr std::size_t kEndsMax = 64;

std::vector<End> ends_of(const RdmaPorts& ports, const std::string& via) {
  std::vector<End> ends;
  for (const RdmaPort& port : ports.usable) {
    if (ends.size() == kEndsMax) break;
    const IpAddress address = parse(port.address());
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

bool in_one_subnet(const End& one, const End& other) {
  // If a prefix is not known, it counts as that of a single address.
  const auto prefix = [](const End& end) {
    const std::uint8_t known = end.port->prefix_bits != 0 ? end.port->prefix_bits : end.address.bits();
    return std::min(known, end.address.bits());
  };
  return same_leading_bits(one.address, other.address, std::max(prefix(one), prefix(other)));
}

// The lower is the likelier that the two are joined.
enum class Joined : std::uint8_t { by_subnet, by_router, by_link };

Joined joined(const End& one, const End& other) {
  if (is_link_local(one.address)) return Joined::by_link;
  return in_one_subnet(one, other) ? Joined::by_subnet : Joined::by_router;
}

struct Candidate {
  const End* connecting;
  const End* listening;
  std::tuple<std::int64_t, Joined, unsigned, unsigned> rank;  // the lower, the better
};

Candidate candidate_of(const End& one, const End& other) {
  const auto megabits = static_cast<std::int64_t>(std::min(one.port->megabits, other.port->megabits));
  unsigned behind_prefix = 0, different = 0;
  for (std::size_t i = 0; i < one.address.bytes.size(); ++i) {
    const auto differs = static_cast<std::uint8_t>(one.address.bytes[i] ^ other.address.bytes[i]);
    different += static_cast<unsigned>(std::popcount(differs));
    if (differs != 0 && behind_prefix == 0) {
      behind_prefix = one.address.bits() - static_cast<unsigned>(8 * i) -
                      static_cast<unsigned>(std::countl_zero(differs));
    }
  }
  return {&one, &other, {-megabits, joined(one, other), behind_prefix, different}};
}

// True for ports whose GIDs name the subnet, in which the LID leads from one to the other.
bool is_by_lid(const Candidate& pair) {
  return pair.connecting->port->by_hand() && pair.connecting->port->link == LinkKind::infiniband;
}

// Takes out the pairs without librdmacm of ports that it can join.
void leave_to_cm(std::vector<Candidate>& found) {
  using Ports = std::tuple<std::string_view, std::uint8_t, std::string_view, std::uint8_t>;
  const auto ports_of = [](const Candidate& pair) {
    const RdmaPort& one = *pair.connecting->port;
    const RdmaPort& other = *pair.listening->port;
    return Ports(one.device, one.port, other.device, other.port);
  };
  std::set<Ports> joined;
  for (const Candidate& pair : found) {
    if (!pair.connecting->port->by_hand()) joined.insert(ports_of(pair));
  }
  std::erase_if(found, [&](const Candidate& pair) {
    return pair.connecting->port->by_hand() && joined.contains(ports_of(pair));
  });
}

std::vector<Candidate> candidates(const std::vector<End>& connecting, const std::vector<End>& listening) {
  std::vector<Candidate> found;
  for (const End& one : connecting) {
    for (const End& other : listening) {
      if (one.port->link != other.port->link || one.address.family != other.address.family) continue;
      if (is_link_local(one.address) != is_link_local(other.address)) continue;
      if (one.port->by_hand() != other.port->by_hand()) continue;
      if (one.meant || other.meant) found.push_back(candidate_of(one, other));
    }
  }
  std::erase_if(found, [&](const Candidate& pair) {
    const LinkKind link = pair.connecting->port->link;
    if (is_by_lid(pair)) return !in_one_subnet(*pair.connecting, *pair.listening);
    return is_link_local(pair.connecting->address) &&
           !(link_local_is_clear(connecting, link) && link_local_is_clear(listening, link));
  });
  leave_to_cm(found);
  std::ranges::stable_sort(found, {}, &Candidate::rank);
  return found;
}

Rail rail_of(const Candidate& pair) {
  Rail rail{*pair.connecting->port, *pair.listening->port};
  if (!rail.listening.by_hand() && is_link_local(pair.listening->address)) {
    const std::string& own = rail.connecting.host;
    std::string& far = rail.listening.host;
    far = far.substr(0, far.find('%')) + own.substr(std::min(own.find('%'), own.size()));
  }
  return rail;
}

std::vector<Rail> rails_of(const std::vector<Candidate>& sorted) {
  std::vector<Rail> rails;
  for (const Candidate& pair : sorted) {
    if (rails.size() == kCandidatesMax) break;
    const auto of_port = std::ranges::count_if(
        rails, [&pair](const Rail& rail) { return is_same_port(rail.connecting, *pair.connecting->port); });
    if (static_cast<std::size_t>(of_port) < kCandidatesOfPort) rails.push_back(rail_of(pair));
  }
  return rails;
}

std::string missing_ports(const RdmaPorts& connecting, const RdmaPorts& listening) {
  const auto lacks = [](const RdmaPorts& ports) {
    return ports.usable.empty() || !ports.none_because.empty();
  };
  const bool here = lacks(connecting), there = lacks(listening);
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
  constexpr std::size_t kNamedMax = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(ends.size(), kNamedMax); ++i) {
    const RdmaPort& port = *ends[i].port;
    text += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", port.name(), port.address(), describe(port.link));
  }
  if (ends.size() > kNamedMax) text += ", ...";
  return text;
}

std::string no_pair(const std::vector<End>& connecting, const std::vector<End>& listening) {
  const bool one_kind = std::ranges::any_of(connecting, [&listening](const End& one) {
    return std::ranges::any_of(listening,
                               [&one](const End& other) { return one.port->link == other.port->link; });
  });
  return fmt::format("{}: {} and {}",
                     one_kind ? "no addresses that could reach each other" : "no common kind of link",
                     listed(connecting), listed(listening));
}

// One host has no use for librdmacm, and the other one, with an older rdcp or iWARP, for nothing else.
std::string no_way_in_common(const RdmaPorts& connecting, const RdmaPorts& listening) {
  const auto with_cm = [](const RdmaPort& port) { return !port.by_hand(); };
  const auto any = [](const RdmaPorts& ports, auto is) { return std::ranges::any_of(ports.usable, is); };
  const bool both_with = any(connecting, with_cm) && any(listening, with_cm);
  const bool both_without = any(connecting, &RdmaPort::by_hand) && any(listening, &RdmaPort::by_hand);
  return both_with || both_without ? "" : missing_ports(connecting, listening);
}

}  // namespace

RailChoice choose_rails(const RdmaPorts& connecting, const RdmaPorts& listening, const std::string& via) {
  if (connecting.usable.empty() || listening.usable.empty()) {
    return {{}, missing_ports(connecting, listening)};
  }
  const std::vector<End> ours = ends_of(connecting, via);
  const std::vector<End> theirs = ends_of(listening, via);
  if (auto rails = rails_of(candidates(ours, theirs)); !rails.empty()) return {std::move(rails), {}};
  if (const std::string without = no_way_in_common(connecting, listening); !without.empty()) {
    return {{}, without};
  }
  if (std::ranges::none_of(ours, &End::meant) && std::ranges::none_of(theirs, &End::meant)) {
    return {
        {},
        fmt::format(
            "neither host has a usable RDMA device, interface or address {}; the connecting host has {}, the "
            "listening host {}",
            via, listed(ours), listed(theirs)),
        true};
  }
  return {{}, no_pair(ours, theirs)};
}

RailPlan::RailPlan(const std::vector<Rail>& candidates)
    : candidates_(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(
                                                               std::min(candidates.size(), kCandidatesMax))),
      pairs_(candidates_.size()) {}

bool RailPlan::any_works() const {
  return std::ranges::find(pairs_, State::works, &Pair::state) != pairs_.end();
}

bool RailPlan::all_failed() const {
  return std::ranges::all_of(pairs_, [this](const Pair& pair) {
    return pair.state == State::lost || (pair.state == State::untried && !may_try_);
  });
}

bool RailPlan::shares_port(std::size_t one, std::size_t other) const {
  return is_same_port(candidates_[one].connecting, candidates_[other].connecting) ||
         is_same_port(candidates_[one].listening, candidates_[other].listening);
}

std::uint32_t RailPlan::megabits_min() const {
  std::uint32_t fastest = 0;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].state != State::lost) fastest = std::max(fastest, candidates_[i].megabits());
  }
  return slower_ones_ ? 0 : fastest / 4;
}

std::vector<std::size_t> RailPlan::rails() const {
  const std::uint32_t least = megabits_min();
  std::vector<std::size_t> rails;
  for (const State state : {State::works, State::tried, State::untried}) {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (pairs_[i].state != state) continue;
      if (state == State::untried && (!may_try_ || candidates_[i].megabits() < least)) continue;
      const auto shared = [&](std::size_t taken) { return shares_port(taken, i); };
      if (std::ranges::none_of(rails, shared)) rails.push_back(i);
    }
  }
  return rails;
}

std::optional<std::size_t> RailPlan::next() const {
  std::optional<std::size_t> found;
  const auto speed = [this](std::size_t index) { return std::max(candidates_[index].megabits(), 1u); };
  const auto streams_if_taken = [this](std::size_t index) { return pairs_[index].streams + 1.0; };
  for (const std::size_t rail : rails()) {
    if (pairs_[rail].state == State::untried) return rail;
    // (streams + 1) / speed is the least where one more stream gets the largest share of its port.
    if (!found || streams_if_taken(rail) * speed(*found) < streams_if_taken(*found) * speed(rail))
      found = rail;
  }
  if (found && pairs_[*found].state != State::works) return std::nullopt;
  return found;
}

std::optional<std::size_t> RailPlan::instead_of(std::size_t slow) const {
  std::optional<std::size_t> found;
  for (const std::size_t rail : rails()) {
    if (pairs_[rail].state != State::untried) continue;
    if (is_same_port(candidates_[rail].connecting, candidates_[slow].connecting)) return rail;
    if (!found) found = rail;
  }
  return found;
}

void RailPlan::add_stream(std::size_t index) {
  ++pairs_[index].streams;
  if (pairs_[index].state == State::untried) pairs_[index].state = State::tried;
}

void RailPlan::set_slow(std::size_t index) {
  if (pairs_[index].state == State::tried) pairs_[index].state = State::slow;
}

void RailPlan::set_lost(std::size_t index, const std::string& cause) {
  if (pairs_[index].state == State::lost) return;
  pairs_[index].state = State::lost;
  pairs_[index].cause = cause;
}

std::vector<Rail> best_rails(const std::vector<Rail>& candidates) {
  const RailPlan plan(candidates);
  std::vector<Rail> rails;
  for (const std::size_t index : plan.rails()) rails.push_back(plan.candidates()[index]);
  return rails;
}

}  // namespace rdcp::net
