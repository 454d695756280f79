// Sets up a job's RDMA connections, with librdmacm where there is one: listens, connects, proves the key.
// Calls block, most of them with a deadline; this is not the data path. See rdma_cm(7).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/result.h"
#include "net/crypto/handshake.h"
#include "net/rails/rails.h"
#include "net/rdma/pair_exchange.h"
#include "net/sockets/address.h"
#include "net/sockets/traffic_class.h"

namespace rdcp::net {

// A proven connection with its queue pair, completion queue and room for frames. make_rdma_source() and
// make_rdma_target() turn it into a stream. Destroying it disconnects.
class RdmaConnection;
struct RdmaConnectionDeleter {
  void operator()(RdmaConnection* connection) const;
};
// Returns the keys that seal the connection, if it is sealed.
const std::optional<SealKeys>& seal_of(const RdmaConnection& connection);
// Returns the port of this host that it goes through.
const RdmaPort& port_of(const RdmaConnection& connection);
using RdmaConnectionPtr = std::unique_ptr<RdmaConnection, RdmaConnectionDeleter>;
using RdmaConnections = std::vector<RdmaConnectionPtr>;  // by stream index

// How long a connecting side waits before it does something else.
struct RdmaPatience {
  std::chrono::milliseconds refused{10'000};   // for a rail that refuses, because the peer may be starting
  std::chrono::milliseconds no_answer{5'000};  // for a rail on which nobody answers
  std::chrono::milliseconds next_rail{1'000};  // until the next rail is tried as well
  std::chrono::milliseconds search{8'000};     // until no more pairs of ports are tried
};

// The terms that all connections of a job share. `stop` is checked at least every 100 ms.
struct RdmaCall {
  HandshakeTerms key;
  std::uint16_t stream_count = 1;
  std::uint32_t target_slots = 1;  // of each stream; determines the size of the queues
  bool source = false;             // which side of the copy this is
  std::chrono::milliseconds deadline{20'000};
  const std::atomic<bool>& stop;
  RdmaPatience patience = {};
  // To the other side, as far as it is known; see ack_timeout().
  std::chrono::microseconds round_trip{0};
  // The side that connects asks for it by RDMA_OPTION_ID_TOS (rdma_set_option(3)). The side that listens
  // sends with the class that the request comes with. Without one it is the host's default_roce_tos.
  TrafficClass traffic_class = {};
  // The completion queues of the streams have a device's completion vectors in turn, by stream index, so that
  // its interrupts come to several processors; else all have the first one.
  bool spreads_vectors = true;
  // Relays what joins queue pairs without librdmacm. Null: nobody does, so rails without hosts do not work.
  PairExchange* pairs = nullptr;
};

// Returns how long a device waits for the acknowledgement of a packet until it sends it again, as devices are
// told: 4.096 microseconds, doubled so many times (InfiniBand Architecture Specification, 9.7.6.1.3; a device
// may wait four times as long).
std::uint8_t ack_timeout(std::chrono::microseconds round_trip);

// One listening id for each of this host's addresses; for one job alone.
class RdmaListener {
 public:
  // Listens on port number `at`, or with 0 on one that the kernel picks for each address. iWARP's numbers are
  // those of TCP: if TCP has this one, the kernel picks another. Sets listen_port of each port that can be
  // listened on; ports without a host need none. Error (connection): none can.
  static io::Result<RdmaListener> open(std::vector<RdmaPort>& ports, std::uint16_t at = 0);
  // Listens on the first number of the range at which it can at one address.
  static io::Result<RdmaListener> open_within(std::vector<RdmaPort>& ports, const PortRange& numbers);
  RdmaListener(RdmaListener&&) noexcept;
  RdmaListener& operator=(RdmaListener&&) noexcept;
  ~RdmaListener();

  // Accepts until every stream index has a proven connection, then stops listening (also after an error).
  // Holds at most kPendingMax unproven connections, each for key.time_limit at most; for a further one the
  // oldest is dropped. A wrong key ends only that connection, and the later of two proven ones for an index
  // counts, as with TcpListener. Errors: the deadline has passed, with what the last refused peer did wrong
  // (connection); stopped (interrupted).
  io::Result<RdmaConnections> accept_all(const RdmaCall& call);
  // Does the same, but goes on listening.
  io::Result<RdmaConnections> accept_first(const RdmaCall& call);
  // Waits without a deadline for one more proven connection, whose number may be any below call.stream_count.
  // If a device was removed, listens on it again when it is back.
  struct Further {
    std::uint16_t stream = 0;
    RdmaConnectionPtr connection;
  };
  io::Result<Further> accept_further(const RdmaCall& call);
  // Any thread may call this. Once `stop` is set, it ends a wait for a connection at once.
  void interrupt();
  static constexpr std::size_t kPendingMax = 8;

 private:
  struct Ids;
  explicit RdmaListener(std::unique_ptr<Ids> ids);
  std::unique_ptr<Ids> ids_;
};

// Rails as they were found when the job's streams were connected.
struct KnownRails {
  std::vector<Rail> working;
  std::vector<Rail> others;  // tried in vain or not at all
};

struct RailConnections {
  RdmaConnections connections;
  // "rail mlx5_1 -> 10.0.1.2: cause" for each rail of the first choice that is not used.
  std::vector<std::string> lost_rails;
  KnownRails rails;
};

// Connects all streams over rails that it chooses of the candidates (RailPlan), the best first, spread by the
// speeds of the rails that work. Pairs without a route are left out. A pair that does not answer for
// patience.next_rail has others tried beside it; its streams go over those, or over the rails that work.
// Tries again for patience.refused while the other side refuses, because it may still be starting. Errors: no
// pair works, with the cause of each (connection); stopped (interrupted).
io::Result<RailConnections> connect_rails(const std::vector<Rail>& candidates, const RdmaCall& call);

// Makes one more stream, with this number (call.stream_count does not matter). The working rails are tried in
// turn from rails.working[stream mod n] on, then the others: the next one starts when one has failed, or has
// not answered for call.patience.next_rail, and the first that proves the key wins. Only the winner is ever
// sent a proof, so the listener takes no connection that is not used. Errors: those of connect_rails().
io::Result<RdmaConnectionPtr> connect_further(const KnownRails& rails, const RdmaCall& call,
                                              std::uint16_t stream);

}  // namespace rdcp::net
