// Says whether a stream is encrypted.
#pragma once

#include <cstdint>

namespace rdcp::net {

// Each side has a wish, says it in its handshake, and covers both by its MAC. A stream is sealed if one side
// wants it (`always`, `rather`) and the other one allows it (all but `never`). Where one wants it and the
// other one does not allow it there is no stream: nobody's data goes in clear without their knowing.
enum class Sealing : std::uint8_t {
  never,      // the user trusts the network
  always,     // the user has asked for it
  if_wanted,  // nobody has asked, and what is sent stays on this host or within ssh, or RDMA carries it
  rather,     // nobody has asked, and it goes over a network
};
constexpr Sealing last_of(Sealing) {
  return Sealing::rather;
}

}  // namespace rdcp::net
