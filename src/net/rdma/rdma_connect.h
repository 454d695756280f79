// Setting up a job's RDMA connections with librdmacm: listen, connect, prove the key. Blocking, with
// deadlines; not the data path. See rdma_cm(7).
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

namespace rdcp::net {

// A proven connection with its queue pair, completion queue and room for frames; what make_rdma_source() and
// make_rdma_target() turn into a stream. Destroying it disconnects.
class RdmaConnection;
struct RdmaConnectionDeleter {
  void operator()(RdmaConnection* connection) const;
};
// What its two sides agreed to seal it with, if anything.
const std::optional<SealKeys>& seal_of(const RdmaConnection& connection);
using RdmaConnectionPtr = std::unique_ptr<RdmaConnection, RdmaConnectionDeleter>;
using RdmaConnections = std::vector<RdmaConnectionPtr>;  // by stream index

// What a job's connections have in common. `stop` is looked at every 100 ms at least.
struct RdmaCall {
  HandshakeTerms key;
  std::uint16_t stream_count = 1;
  std::uint32_t target_slots = 1;  // of each stream: sizes the queues
  bool source = false;             // which side of the copy this is
  std::chrono::seconds deadline{20};
  const std::atomic<bool>& stop;
};

// One listening id for each of this host's addresses; for one job alone.
class RdmaListener {
 public:
  // at: the port number to listen on, 0 for one that the kernel picks for each. Sets listen_port of each port
  // that can be listened on. Error (connection): none can.
  static io::Result<RdmaListener> open(std::vector<RdmaPort>& ports, std::uint16_t at = 0);
  RdmaListener(RdmaListener&&) noexcept;
  RdmaListener& operator=(RdmaListener&&) noexcept;
  ~RdmaListener();

  // Accepts until every stream index has a proven connection, then stops listening (on an error, too). Holds
  // at most kPendingMax unproven ones, each kHandshakeTimeout at most; for a further one the oldest is
  // dropped. A wrong key ends that connection only, and the later of two proven ones for an index counts, as
  // with TcpListener. Errors: deadline passed, with what the last refused peer did wrong (connection);
  // stopped (interrupted).
  io::Result<RdmaConnections> accept_all(const RdmaCall& call);
  // The same, but goes on listening.
  io::Result<RdmaConnections> accept_first(const RdmaCall& call);
  // Waits without a deadline for one more proven connection, of any number below call.stream_count. A device
  // that was removed is listened on again when it is back.
  struct Further {
    std::uint16_t stream = 0;
    RdmaConnectionPtr connection;
  };
  io::Result<Further> accept_further(const RdmaCall& call);
  // Any thread: what waits for a connection ends, once `stop` is set, at once.
  void interrupt();
  static constexpr std::size_t kPendingMax = 8;

 private:
  struct Ids;
  explicit RdmaListener(std::unique_ptr<Ids> ids);
  std::unique_ptr<Ids> ids_;
};

struct RailConnections {
  RdmaConnections connections;
  // "rail mlx5_1 -> 10.0.1.2: cause" of rails that could not be connected while others could.
  std::vector<std::string> lost_rails;
};

// Connects stream i over rails[i mod n]; a rail that does not answer is left out and its streams go over the
// others. Tries again for about 10 s (kConnectRetry) while the other side refuses, as it may still be coming
// up. Error (connection): every rail with its cause; (interrupted): stopped.
io::Result<RailConnections> connect_rails(const std::vector<Rail>& rails, const RdmaCall& call);
inline constexpr std::chrono::seconds kConnectRetry{10};

// One more stream, with this number (call.stream_count does not matter). The rails are tried in turn, from
// rails[stream mod n] on: the next one starts when one has failed, or has not answered for a second, and the
// first that proves the key wins. Only the winner is ever sent a proof, so the listener takes no connection
// that is not used. Errors as above.
io::Result<RdmaConnectionPtr> connect_further(const std::vector<Rail>& rails, const RdmaCall& call,
                                              std::uint16_t stream);

}  // namespace rdcp::net
