// Sets up a job's RDMA connections with librdmacm: listens, connects, proves the key. Calls block, most of
// them with a deadline; this is not the data path. See rdma_cm(7).
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
#include "net/rdma/rails.h"
#include "net/sockets/address.h"

namespace rdcp::net {

// A proven connection with its queue pair, completion queue and room for frames. make_rdma_source() and
// make_rdma_target() turn it into a stream. Destroying it disconnects.
class RdmaConnection;
struct RdmaConnectionDeleter {
  void operator()(RdmaConnection* connection) const;
};
// Returns the keys that seal the connection, if it is sealed.
const std::optional<SealKeys>& seal_of(const RdmaConnection& connection);
using RdmaConnectionPtr = std::unique_ptr<RdmaConnection, RdmaConnectionDeleter>;
using RdmaConnections = std::vector<RdmaConnectionPtr>;  // by stream index

// How long a connecting side waits before it does something else.
struct RdmaPatience {
  std::chrono::milliseconds refused{10'000};   // for a rail that refuses, because the peer may be starting
  std::chrono::milliseconds no_answer{5'000};  // for a rail on which nobody answers
  std::chrono::milliseconds next_rail{1'000};  // for a further stream, until the next rail is tried as well
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
};

// One listening id for each of this host's addresses; for one job alone.
class RdmaListener {
 public:
  // Listens on port number `at`, or with 0 on one that the kernel picks for each address. Sets listen_port of
  // each port that can be listened on. Error (connection): none can.
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

struct RailConnections {
  RdmaConnections connections;
  // "rail mlx5_1 -> 10.0.1.2: cause" for each rail that could not be connected while others could.
  std::vector<std::string> lost_rails;
};

// Connects stream i over rails[i mod n]. A rail that does not answer is left out, and its streams go over the
// others. Tries again for call.patience.refused while the other side refuses, because it may still be
// starting. Errors: every rail with its cause (connection); stopped (interrupted).
io::Result<RailConnections> connect_rails(const std::vector<Rail>& rails, const RdmaCall& call);

// Makes one more stream, with this number (call.stream_count does not matter). The rails are tried in turn
// from rails[stream mod n] on: the next one starts when one has failed, or has not answered for
// call.patience.next_rail, and the first that proves the key wins. Only the winner is ever sent a proof, so
// the listener takes no connection that is not used. Errors: those of connect_rails().
io::Result<RdmaConnectionPtr> connect_further(const std::vector<Rail>& rails, const RdmaCall& call,
                                              std::uint16_t stream);

}  // namespace rdcp::net
