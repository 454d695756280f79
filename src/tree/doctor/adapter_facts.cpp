#include "tree/doctor/adapter_facts.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace rdcp::tree {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClass = "/sys/class/infiniband";

template <class Number>
Number number_in(const fs::path& file) {
  std::ifstream stream(file);
  Number number{};
  return stream >> number ? number : Number{};
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  auto each = fs::directory_iterator(directory, error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    names.push_back(each->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

// The speed's file says, for example, "16.0 GT/s PCIe".
PcieLink link_of(const std::string& device, const char* which) {
  const fs::path folder = fs::path(kClass) / device / "device";
  return {number_in<double>(folder / fmt::format("{}_link_speed", which)),
          number_in<unsigned>(folder / fmt::format("{}_link_width", which))};
}

// Returns "10.0.0.0/24"; nothing for IPv6, whose neighbour discovery has no such fault.
std::optional<std::string> subnet_of(const net::RdmaAddressFacts& address) {
  in_addr host{};
  if (::inet_pton(AF_INET, address.host.c_str(), &host) != 1 || address.prefix_bits > 32) return std::nullopt;
  const std::uint32_t mask = address.prefix_bits == 0 ? 0 : ~std::uint32_t{0} << (32 - address.prefix_bits);
  const in_addr network{htonl(ntohl(host.s_addr) & mask)};
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &network, text.data(), text.size());
  return fmt::format("{}/{}", text.data(), address.prefix_bits);
}

// The larger of the interface's setting and that of "all" counts.
bool answers_for_others(const std::string& interface) {
  const auto set = [&](const char* name) {
    const fs::path folder = "/proc/sys/net/ipv4/conf";
    return number_in<int>(folder / "all" / name) != 0 || number_in<int>(folder / interface / name) != 0;
  };
  return !set("arp_ignore") && !set("arp_filter");
}

// The names of mlx5, bnxt_re, irdma, efa and rxe for packets that were sent again, were lost or came out of
// order, and for ECN: congestion notification packets and marked ones.
bool tells_of_network(std::string name) {
  constexpr std::array<std::string_view, 10> kWords = {"retrans", "retry",       "seq_err",    "out_of_seq",
                                                       "timeout", "cnp_handled", "cnphandled", "cnp_sent",
                                                       "cnpsent", "ecn"};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(kWords, [&name](std::string_view word) { return name.find(word) != name.npos; });
}

void add_counters(const fs::path& folder, const std::string& whose, NetworkCounters& counters) {
  for (const std::string& name : names_in(folder)) {
    if (tells_of_network(name)) counters[whose + " " + name] = number_in<std::uint64_t>(folder / name);
  }
}

}  // namespace

double PcieLink::gigabits() const {
  constexpr double kLastWithTenBits = 5;
  const double coded = gigatransfers <= kLastWithTenBits ? 8.0 / 10 : 128.0 / 130;
  return gigatransfers * lanes * coded;
}

std::vector<AdapterFacts> adapter_facts(const net::RdmaFacts& facts) {
  std::vector<AdapterFacts> adapters;
  for (const net::RdmaDeviceFacts& device : facts.devices) {
    adapters.push_back({device.name, link_of(device.name, "current"), link_of(device.name, "max")});
  }
  return adapters;
}

std::vector<SharedSubnet> shared_subnets(const net::RdmaFacts& facts) {
  std::vector<SharedSubnet> shared;
  for (auto one = facts.addresses.begin(); one != facts.addresses.end(); ++one) {
    const auto subnet = subnet_of(*one);
    if (!subnet) continue;
    for (auto other = one + 1; other != facts.addresses.end(); ++other) {
      if (one->interface == other->interface || subnet_of(*other) != subnet) continue;
      if (!answers_for_others(one->interface) && !answers_for_others(other->interface)) continue;
      const auto [first, second] = std::minmax(one->interface, other->interface);
      SharedSubnet found{first, second, *subnet};
      if (std::ranges::find(shared, found) == shared.end()) shared.push_back(std::move(found));
    }
  }
  return shared;
}

NetworkCounters network_counters() {
  NetworkCounters counters;
  for (const std::string& device : names_in(kClass)) {
    const fs::path folder = fs::path(kClass) / device;
    add_counters(folder / "hw_counters", device, counters);
    for (const std::string& port : names_in(folder / "ports")) {
      add_counters(folder / "ports" / port / "hw_counters", device + "/" + port, counters);
    }
  }
  return counters;
}

std::string growth(const NetworkCounters& before, const NetworkCounters& after) {
  std::string text;
  for (const auto& [name, value] : after) {
    const auto found = before.find(name);
    if (found == before.end() || value <= found->second) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value - found->second);
  }
  return text;
}

}  // namespace rdcp::tree
