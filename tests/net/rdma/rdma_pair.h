// Two ends of one RDMA connection over a device of this machine, as its own peer.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/rails/rdma_port.h"
#include "net/rdma/rdma_connect.h"

namespace rdcp::net {

// Which of this machine's ports a test uses.
enum class WhichPort { ipv4, ipv6, second_device, by_hand };

inline std::string name_of(WhichPort which) {
  switch (which) {
    case WhichPort::ipv4:
      return "Ipv4";
    case WhichPort::ipv6:
      return "Ipv6";
    case WhichPort::by_hand:
      return "ByHand";
    default:
      return "SecondDevice";
  }
}

// Returns nothing if this machine has no such port.
inline std::optional<RdmaPort> find_port(WhichPort which) {
  static const RdmaPorts ports = own_rdma_ports();
  std::string first_device;
  for (const RdmaPort& port : ports.usable) {
    if (first_device.empty() || port.device < first_device) first_device = port.device;
  }
  for (const RdmaPort& port : ports.usable) {
    if (which == WhichPort::by_hand && port.by_hand() && !port.address().starts_with("fe80:")) return port;
    if (which == WhichPort::by_hand || port.by_hand()) continue;
    const bool v6 = port.host.find(':') != std::string::npos;
    if (port.host.find('%') != std::string::npos) continue;
    if (which == WhichPort::second_device ? port.device != first_device && !v6
                                          : port.device == first_device && v6 == (which == WhichPort::ipv6)) {
      return port;
    }
  }
  return std::nullopt;
}

// What joins the queue pairs of both sides of a job without librdmacm. The source connects.
struct LetterBoxes {
  PairExchange connecting{{.offer =
                               [this](const PairOffer& offer) {
                                 offers.push_back(offer);
                                 listening.take(offer);
                               },
                           .answer = [](const PairAnswer&) {}}};
  PairExchange listening{{.offer = [](const PairOffer&) {},
                          .answer = [this](const PairAnswer& answer) { connecting.take(answer); }}};
  std::vector<PairOffer> offers;  // all that were made
};

// What connect_rails() and accept_all() of one job share.
struct RdmaJob {
  SessionKey key = make_session_key().value();
  std::atomic<bool> stop = false;
  std::uint16_t streams = 1;
  std::uint32_t slots = 3;
  std::chrono::milliseconds deadline{20'000};
  bool seals = false;
  std::chrono::milliseconds handshake = kHandshakeTimeout;
  RdmaPatience patience;
  TrafficClass traffic_class = {};
  std::chrono::microseconds round_trip{0};
  mutable LetterBoxes boxes;

  RdmaCall call(bool source) const {
    HandshakeTerms terms(key, seals ? Sealing::always : Sealing::never);
    terms.time_limit = handshake;
    RdmaCall call{terms, streams, slots, source, deadline, stop, patience};
    call.traffic_class = traffic_class;
    call.round_trip = round_trip;
    call.pairs = source ? &boxes.connecting : &boxes.listening;
    return call;
  }
};

struct RdmaPair {
  RdmaConnections source;
  RdmaConnections target;
};

// The source connects.
inline RdmaPair make_rdma_pair(const RdmaPort& port, const RdmaJob& job) {
  std::vector<RdmaPort> listening{port};
  auto listener = RdmaListener::open(listening);
  EXPECT_TRUE(listener) << listener.error().message();
  if (!listener) return {};
  auto accepted = std::async(std::launch::async, [&] { return listener->accept_all(job.call(false)); });
  auto connected = connect_rails({{port, listening[0]}}, job.call(true));
  EXPECT_TRUE(connected) << connected.error().message();
  auto got = accepted.get();
  EXPECT_TRUE(got) << got.error().message();
  if (!connected || !got) return {};
  return {std::move(connected->connections), std::move(*got)};
}

}  // namespace rdcp::net
