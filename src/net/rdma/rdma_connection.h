// A connection: its id on an event channel of its own, and its queue pair. For use within net only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/result.h"
#include "net/rdma/rdma_connect.h"
#include "net/rdma/rdma_port.h"
#include "net/rdma/rdma_queue.h"
#include "net/rdma/verbs.h"

namespace rdcp::net {

// If a send finds no receive posted, the device pauses (655 ms, which CM sets) and tries again, this many
// times. Our sends never meet that, see RdmaQueueSizes; 7 would mean for ever.
inline constexpr std::uint8_t kReceiverNotReadyRetries = 6;
// How often a packet that is not acknowledged is sent again; CM sets the pause between. Seven is the most.
inline constexpr std::uint8_t kRetries = 7;

rdma_conn_param connection_parameters();
// These return numeric addresses with their ports.
std::string local_address_text(rdma_cm_id& id);
std::string peer_address_text(rdma_cm_id& id);

class RdmaConnection {
 public:
  // id must know its device and be on channel, which is its own. port is this host's.
  static io::Result<RdmaConnectionPtr> create(EventChannel channel, CmId id, const RdmaPort& port,
                                              const RdmaCall& call);
  ~RdmaConnection();
  RdmaConnection(const RdmaConnection&) = delete;
  RdmaConnection& operator=(const RdmaConnection&) = delete;

  rdma_event_channel& channel() { return *channel_; }
  rdma_cm_id& id() { return *id_; }
  RdmaQueue& queue() { return *queue_; }
  const RdmaPort& port() const { return port_; }
  // The keys that seal its messages and payloads, if they are sealed.
  const std::optional<SealKeys>& seal() const { return seal_; }
  void set_seal(const std::optional<SealKeys>& seal) { seal_ = seal; }
  // Ends the connection; all that is under way completes with an error. Only the first call counts.
  void disconnect();

 private:
  RdmaConnection(EventChannel channel, CmId id, const RdmaPort& port, std::unique_ptr<RdmaQueue> queue);

  RdmaPort port_;
  std::optional<SealKeys> seal_;
  bool disconnected_ = false;
  EventChannel channel_;
  CmId id_;
  std::unique_ptr<RdmaQueue> queue_;
};

}  // namespace rdcp::net
