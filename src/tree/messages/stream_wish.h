// How the streams of a job are to be made.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "io/range.h"
#include "net/crypto/handshake.h"
#include "net/stream/compress.h"

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
  net::Sealing encrypt = net::Sealing::rather;  // over TCP; over RDMA `rather` is `if_wanted`
  io::Within<net::Compression, net::kCompressOff, net::kCompressAuto> compress;
  auto fields() {
    return std::tie(connect, transport, via, port, port_last, either_way, key, encrypt, compress);
  }
};

}  // namespace rdcp::tree
