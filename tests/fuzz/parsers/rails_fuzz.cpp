// Whatever RDMA ports an agent says it has: of the rails that are used a port is in one at most, and none is
// below a quarter of the fastest; a rail pairs ports of one kind of link, `via` is kept to, and where there
// is no rail there is a reason. The input is two encoded lists of ports and a word for --via.
#include <algorithm>

#include "net/rails/rails.h"
#include "tests/fuzz/targets.h"
#include "tree/protocol/codec.h"

namespace rdcp::fuzz {
namespace {

using net::RdmaPort;
using net::RdmaPorts;

// As it came over the wire, or made of choices: chance finds few addresses.
RdmaPorts ports_of(Choices& choices) {
  RdmaPorts ports;
  if (choices.flag()) {
    tree::Decoder decoder(choices.long_piece());
    if (!decoder.get_all(ports.fields())) ports = {};
    return ports;
  }
  constexpr std::array<std::string_view, 8> kHosts = {
      "10.0.0.1", "10.0.0.2", "10.1.0.1", "fe80::1%ib0", "fe80::2%eth1", "2001:db8::1%x", "::", "no address"};
  for (std::size_t i = choices.below(6); i > 0; --i) {
    RdmaPort& port = ports.usable.emplace_back();
    port.device = choices.flag() ? "mlx5_0" : "rxe1";
    port.port = static_cast<std::uint8_t>(choices.below(3));
    port.link = static_cast<net::LinkKind>(1 + choices.below(3));
    port.host = choices.below(8) == 7 ? choices.piece() : kHosts[choices.below(kHosts.size())];
    port.prefix_bits = choices.number<std::uint8_t>();
    port.megabits = choices.number<std::uint32_t>();
  }
  return ports;
}

void check_rails(const std::vector<net::Rail>& candidates, const RdmaPorts& connecting,
                 const RdmaPorts& listening) {
  require(candidates.size() <= net::kCandidatesMax);
  for (const net::Rail& rail : candidates) {
    require(rail.connecting.link == rail.listening.link);
    require(std::ranges::find(connecting.usable, rail.connecting) != connecting.usable.end());
  }
  const std::vector<net::Rail> rails = net::best_rails(candidates);
  require(rails.empty() == candidates.empty());
  require(rails.size() <= std::min(connecting.usable.size(), listening.usable.size()));
  for (std::size_t i = 0; i < rails.size(); ++i) {
    require(rails[i].megabits() >= rails[0].megabits() / 4);
    for (std::size_t k = 0; k < i; ++k) {
      require(!net::is_same_port(rails[k].connecting, rails[i].connecting) &&
              !net::is_same_port(rails[k].listening, rails[i].listening));
    }
  }
}

}  // namespace

void fuzz_rails(Bytes input) {
  Choices choices(input);
  const RdmaPorts connecting = ports_of(choices), listening = ports_of(choices);
  for (const auto* ports : {&connecting, &listening}) {
    for (const RdmaPort& port : ports->usable) require(!port.text().empty());
  }
  const auto chosen = net::choose_rails(connecting, listening, "");
  check_rails(chosen.candidates, connecting, listening);
  require(!chosen.candidates.empty() || connecting.usable.empty() || listening.usable.empty() ||
          !chosen.none_because.empty());
  const std::string via(choices.rest());
  if (via.empty()) return;
  const auto meant = net::choose_rails(connecting, listening, via);
  check_rails(meant.candidates, connecting, listening);
  require(meant.candidates.empty() || !chosen.candidates.empty());
}

}  // namespace rdcp::fuzz
