// A connection: its id on an event channel of its own, and its queue pair. Within net only.
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

// The device answers a send that finds no receive posted by a pause (655 ms, which is what CM sets) and as
// many tries more. Ours never meet that, see RdmaQueueSizes; 7 would be for ever.
inline constexpr std::uint8_t kReceiverNotReadyRetries = 6;
// Of a packet that is not acknowledged; the pause between is CM's. Seven is the most.
inline constexpr std::uint8_t kRetries = 7;

rdma_conn_param connection_parameters();
// Numeric, with the port.
std::string local_address_text(rdma_cm_id& id);
std::string peer_address_text(rdma_cm_id& id);

class RdmaConnection {
 public:
  // id: its device is known, it is on channel, which is its own. port: of this host.
  static io::Result<RdmaConnectionPtr> create(EventChannel channel, CmId id, const RdmaPort& port,
                                              const RdmaCall& call);
  ~RdmaConnection();
  RdmaConnection(const RdmaConnection&) = delete;
  RdmaConnection& operator=(const RdmaConnection&) = delete;

  rdma_event_channel& channel() { return *channel_; }
  rdma_cm_id& id() { return *id_; }
  RdmaQueue& queue() { return *queue_; }
  const RdmaPort& port() const { return port_; }
  // What its messages and payloads are sealed with, if they are.
  const std::optional<SealKeys>& seal() const { return seal_; }
  void set_seal(const std::optional<SealKeys>& seal) { seal_ = seal; }
  // Ends it; all that is under way completes with an error. The first call counts.
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
