// A connection: its queue pair, and its id on an event channel of its own, unless it was made by hand. For
// use within net only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/result.h"
#include "net/rails/rdma_port.h"
#include "net/rails/verbs.h"
#include "net/rdma/pair_exchange.h"
#include "net/rdma/rdma_connect.h"
#include "net/rdma/rdma_queue.h"

namespace rdcp::net {

// If a send finds no receive posted, the device pauses (655 ms, which CM sets) and tries again, this many
// times. Our sends never meet that, see RdmaQueueSizes; 7 would mean for ever.
inline constexpr std::uint8_t kReceiverNotReadyRetries = 6;
// How often a packet that is not acknowledged is sent again, after ack_timeout() each time. Seven would be
// the most, but means for ever to Soft-RoCE (Linux 6.1, rxe_comp.c).
inline constexpr std::uint8_t kRetries = 6;

// Goes with a connect request and with its answer, as private data, which other versions do not read: this
// version takes a hello or a challenge that is padded to a full packet. A request says which stream it makes
// as well, before the hello does.
//
//     0  "RDP1"    4  number of the stream (u16, little-endian)    6  1 if it beats (u8)    7  zero (u8)
struct CmWord {
  bool takes_padding = false;
  std::uint16_t stream = 0;
  bool beats = false;  // see RdmaConnection::beats()
};
std::array<std::byte, kCmWordBytes> encode(const CmWord& word);
// Returns an empty word for anything else.
CmWord decode_cm_word(std::span<const std::byte, kCmWordBytes> said);
// word: what encode() returned; it must outlive what is returned.
rdma_conn_param connection_parameters(const std::array<std::byte, kCmWordBytes>& word);
// These return numeric addresses with their ports.
std::string local_address_text(rdma_cm_id& id);
std::string peer_address_text(rdma_cm_id& id);

// Returns the first `bytes` of a message that is longer and has only zeros behind them, else the message.
std::span<const std::byte> without_padding(std::span<const std::byte> message, std::size_t bytes);
// Says that a path carries small packets, but none with so many bytes of payload. way: "there" or "from
// there".
io::Error full_packet_error(std::size_t bytes, std::string_view way);

class RdmaConnection {
 public:
  // id must know its device and be on channel, which is its own. port is this host's. stream: its number, as
  // far as anybody has said.
  static io::Result<RdmaConnectionPtr> create(EventChannel channel, CmId id, const RdmaPort& port,
                                              const RdmaCall& call, std::uint16_t stream);
  // Makes one by hand, that is without librdmacm: opens the port's device, and takes the port's GID.
  // routable: which version RoCE must have; nothing: 2 if the port has it. join() does the rest.
  static io::Result<RdmaConnectionPtr> create_by_hand(const RdmaPort& port, const RdmaCall& call,
                                                      std::uint16_t stream,
                                                      std::optional<bool> routable = {});
  ~RdmaConnection();
  RdmaConnection(const RdmaConnection&) = delete;
  RdmaConnection& operator=(const RdmaConnection&) = delete;

  bool by_hand() const { return !id_; }
  // Made by hand: this end, for the other one.
  const PairEnd& end() const { return end_; }
  // Made by hand, once: brings the queue pair up, joined with the peer's. Error (connection).
  io::Result<void> join(const PairEnd& peer, const RdmaCall& call);

  // Not made by hand.
  rdma_event_channel& channel() { return *channel_; }
  rdma_cm_id& id() { return *id_; }
  // Returns -1 if it was made by hand: CM tells nothing then.
  int events_fd() const { return channel_ ? channel_->fd : -1; }
  std::optional<CmEvent> next_event();
  // True if both ends send an empty message now and then, a beat, to show that they are there. With iWARP
  // nothing else does: a request is complete once it is on its way, be the peer there or not (RFC 5040, 5.5).
  bool beats() const { return beats_; }
  // The peer has said that it beats.
  void set_peer_beats(bool peer_beats) { beats_ = peer_beats && is_iwarp(); }
  bool is_beat(const RdmaQueue::Completion& completion) const;
  bool is_iwarp() const { return port_.link == LinkKind::iwarp; }
  // True if this is the empty message with which a connection that was made by hand ends; CM tells of others.
  bool is_farewell(const RdmaQueue::Completion& completion) const;
  // Takes it: all that is under way completes with an error.
  void take_farewell();

  QueuePairPlace place() const;
  // These return numeric addresses with their ports, or what stands in the GIDs of one that was made by hand.
  std::string local_text() const;
  std::string peer_text() const;
  RdmaQueue& queue() { return *queue_; }
  const RdmaPort& port() const { return port_; }
  // The keys that seal its messages and payloads, if they are sealed.
  const std::optional<SealKeys>& seal() const { return seal_; }
  void set_seal(const std::optional<SealKeys>& seal) { seal_ = seal; }
  // Sends the hello or the challenge. If the peer `takes_padding`, the message fills a packet of the path's
  // MTU, after a probe: a path that loses such packets alone is to show before data is trusted to it.
  io::Result<void> greet(std::span<const std::byte> message, bool takes_padding);
  // Returns the payload of that packet in bytes, or 0 if none was sent.
  std::size_t full_packet_bytes() const { return full_packet_bytes_; }
  // True if this completion says that the full packet has not arrived, although the probe has.
  bool has_lost_full_packet(const RdmaQueue::Completion& completion) const;
  // Ends the connection; all that is under way completes with an error. Only the first call counts. One that
  // was made by hand says farewell to the peer; once that has completed, flush() of the queue does the rest.
  void disconnect();

 private:
  RdmaConnection(EventChannel channel, CmId id, const RdmaPort& port, std::unique_ptr<RdmaQueue> queue);
  RdmaConnection(DeviceContext device, const RdmaPort& port, std::unique_ptr<RdmaQueue> queue);
  io::Result<void> find_end(std::optional<bool> routable);

  RdmaPort port_;
  std::optional<SealKeys> seal_;
  bool disconnected_ = false;
  bool joined_ = false;
  bool beats_ = false;
  std::size_t full_packet_bytes_ = 0;
  PairEnd end_, peer_end_;
  std::uint8_t gid_index_ = 0;
  bool needs_global_header_ = false;
  DeviceContext device_;  // made by hand
  EventChannel channel_;
  CmId id_;
  std::unique_ptr<RdmaQueue> queue_;
};

}  // namespace rdcp::net
