// How the streams of a job are to be made.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "io/range.h"
#include "net/crypto/handshake.h"
#include "net/stream/compress.h"
#include "tree/messages/message_type.h"

namespace rdcp::tree {

// How an agent takes part in making the streams.
enum class Connect : std::uint8_t { listen, connect, in_process };
constexpr Connect last_of(Connect) {
  return Connect::in_process;
}

// Says which transports the streams may use. `automatic` takes RDMA if both hosts have ports that reach each
// other, else TCP.
enum class Transport : std::uint8_t { automatic, tcp, rdma };
constexpr Transport last_of(Transport) {
  return Transport::rdma;
}

struct StreamWish {
  Connect connect = Connect::connect;
  Transport transport = Transport::automatic;
  std::string via;              // an address, network interface or RDMA device; empty for the best
  std::uint16_t port = 0;       // the first port to listen on; 0 for any
  std::uint16_t port_last = 0;  // the last one that is tried; below `port`: there is no other
  // Both sides listen, and Begin says which one connects: whoever cannot be reached may be able to reach.
  bool either_way = false;
  net::SessionKey key{};
  net::Sealing encrypt = net::Sealing::rather;  // over TCP
  io::Within<net::Compression, net::kCompressOff, net::kCompressAuto> compress;
  auto fields() {
    return std::tie(connect, transport, via, port, port_last, either_way, key, encrypt, compress);
  }
  // Returns the same for RDMA: a network of RDMA devices is the user's own, and sealing would take from it
  // what it is there for.
  net::Sealing encrypt_rdma() const {
    return encrypt == net::Sealing::rather ? net::Sealing::if_wanted : encrypt;
  }
};

// A job has at most so many streams, and a stream at most so many slots.
inline constexpr unsigned kStreamsMax = 64;
inline constexpr std::uint32_t kSlotsMax = 1 << 16;

// Tells an agent, before it begins, how long a message and its answer take to the other host: RDMA waits
// longer for acknowledgements where that is long. Who knocks also learns how many streams there will be, and
// opens their connections at once. 0: not known. Since version 13.
struct PathTold {
  static constexpr MessageType kType = MessageType::path_told;
  static constexpr std::uint32_t kFirstProtocol = 13;
  static constexpr std::uint32_t kMicrosecondsMax = 60'000'000;
  io::Within<std::uint32_t, 0, kMicrosecondsMax> microseconds = 0;
  io::Within<std::uint16_t, 0, kStreamsMax> streams = 0;
  auto fields() { return std::tie(microseconds, streams); }
};

// Tells an agent, before it begins, which traffic class the packets of its streams are to carry
// (net/sockets/traffic_class.h); any value is one. Since version 13.
struct MarkPackets {
  static constexpr MessageType kType = MessageType::mark_packets;
  static constexpr std::uint32_t kFirstProtocol = 13;
  std::uint8_t traffic_class = 0;
  auto fields() { return std::tie(traffic_class); }
};

// Lets a source, before it begins, add streams as long as that makes the copy faster, up to so many in all.
// Since version 13.
struct GrowStreams {
  static constexpr MessageType kType = MessageType::grow_streams;
  static constexpr std::uint32_t kFirstProtocol = 13;
  io::Within<std::uint16_t, 1, kStreamsMax> most = 1;
  auto fields() { return std::tie(most); }
};

// A source tells over how many streams the copy is to go from now on, and its target, which connects, makes
// those that are missing. Since version 13.
struct UseStreams {
  static constexpr MessageType kType = MessageType::use_streams;
  io::Within<std::uint16_t, 1, kStreamsMax> streams = 1;
  auto fields() { return std::tie(streams); }
};

// Lets both agents, before they begin, prove the key of the streams to each other without a round trip, where
// these are sealed and go over TCP (net/crypto/early.h). Since version 14.
struct ProveEarly {
  static constexpr MessageType kType = MessageType::prove_early;
  static constexpr std::uint32_t kFirstProtocol = 14;
  net::EarlyTerms terms;  // drawn for this job; the cipher is one that both are fast at, if there is one
  auto fields() { return std::tie(terms.nonce, terms.cipher); }
};

// Has an agent, before it begins, leave its threads, their memory and its completion queues where they are
// (--no-numa). Since version 13; those before move nothing.
struct LeavePlacement {
  static constexpr MessageType kType = MessageType::leave_placement;
  static constexpr std::uint32_t kFirstProtocol = 13;
  auto fields() { return std::tie(); }
};

}  // namespace rdcp::tree
