// Judges what stands between an RDMA adapter and its host.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tree/doctor/examine.h"

namespace rdcp::tree {
namespace {

// Returns what the device's active ports carry together.
double gigabits_of_ports(const HostFacts& facts, const std::string& device) {
  double gigabits = 0;
  for (const net::RdmaDeviceFacts& each : facts.rdma.devices) {
    if (each.name != device) continue;
    for (const net::RdmaPortFacts& port : each.ports)
      gigabits += port.state == "ACTIVE" ? port.megabits / 1000.0 : 0;
  }
  return gigabits;
}

std::string text_of(const PcieLink& link) {
  return fmt::format("{:g} GT/s x{}", link.gigatransfers, link.lanes);
}

// A slot with fewer lanes than the adapter, as of four where it has sixteen, is easily overlooked. It matters
// only if the ports carry more than the slot does.
void judge_slot(const HostFacts& facts, const AdapterFacts& adapter, std::vector<Finding>& findings) {
  if (adapter.link.lanes == 0 || adapter.most.lanes == 0) return;
  const double ports = gigabits_of_ports(facts, adapter.device);
  const double slot = adapter.link.gigabits();
  Finding finding{Level::ok, adapter.device, fmt::format("PCIe {}, {:.0f} Gb/s", text_of(adapter.link), slot),
                  ""};
  if (adapter.link != adapter.most) finding.text += ", the adapter could " + text_of(adapter.most);
  if (slot < ports) finding.text += fmt::format(", less than the {:g} Gb/s of its ports", ports);
  if (slot < ports && slot < adapter.most.gigabits()) {
    finding.level = Level::warning;
    finding.advice = fmt::format(
        "put the adapter into a slot with {} lanes of {:g} GT/s, or see whether the firmware splits this one "
        "(bifurcation); lspci -vv shows both sides as LnkCap and LnkSta",
        adapter.most.lanes, adapter.most.gigatransfers);
  }
  findings.push_back(std::move(finding));
}

}  // namespace

void examine_adapters(const HostFacts& facts, std::vector<Finding>& findings) {
  for (const AdapterFacts& adapter : facts.adapters) judge_slot(facts, adapter, findings);
  for (const SharedSubnet& shared : facts.shared_subnets) {
    findings.push_back(
        {Level::warning, shared.one,
         fmt::format(
             "{} is in the same subnet, {}, and one answers ARP requests for the other's address: the "
             "data of both may go through one port",
             shared.other, shared.subnet),
         "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2; or give each port a "
         "subnet of its own"});
  }
}

}  // namespace rdcp::tree
