// A queue pair with its completion queue and the registered room for the messages that go through it. A
// message is at most kMessageBytesMax: a frame, one of the handshake's, or the target's region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/result.h"
#include "net/rails/verbs.h"
#include "net/stream/record_layer.h"

namespace rdcp::net {

inline constexpr std::size_t kMessageBytesMax = kSealedFrameBytes;
// The first message that arrives may be so long, because it may be padded to a full packet: the largest MTU
// of a path (enum ibv_mtu).
inline constexpr std::size_t kPaddedBytesMax = 4096;
inline constexpr std::uint32_t kBeatsMax = 6;  // that there is room for at a peer that takes nothing

// How much can be under way at once. A peer that keeps the rules never sends more than `receives`, so it
// never finds the receiver not ready.
struct RdmaQueueSizes {
  std::uint32_t messages = 0;  // that are being sent
  std::uint32_t writes = 0;
  std::uint32_t receives = 0;
};
// Returns the sizes for a stream with this many slots and for its handshake.
RdmaQueueSizes rdma_queue_sizes(bool source, std::uint32_t target_slots);

class RdmaQueue {
 public:
  // Makes a queue whose device, and id if it has one, must outlive it. All receives are posted.
  // vector: the device interrupts for completions by this one, modulo the number that it has
  // (ibv_create_cq(3)). Errors (connection): the device's limits are too small, or it refused.
  static io::Result<std::unique_ptr<RdmaQueue>> create(const QueuePairPlace& place,
                                                       const RdmaQueueSizes& sizes, unsigned vector);
  RdmaQueue(const RdmaQueue&) = delete;
  RdmaQueue& operator=(const RdmaQueue&) = delete;

  ibv_pd& pd() { return *pd_; }
  // Returns null once it was destroyed.
  ibv_qp* queue_pair() { return qp_.get(); }

  // Where a payload comes from and where it goes.
  struct Write {
    std::span<const std::byte> payload;
    std::uint32_t lkey;
    std::uint64_t address;  // at the peer
    std::uint32_t rkey;
  };
  // Sends a copy of the message. Returns a number below sizes.messages, which the message's completion bears.
  // At most sizes.messages may be under way. Error (connection): the device did not take the message (it may
  // have taken the write).
  io::Result<std::uint32_t> send(std::span<const std::byte> message);
  // Sends the message with zeros behind it, `bytes` in all. Nothing else may be sent like this while it is
  // under way.
  io::Result<std::uint32_t> send_padded(std::span<const std::byte> message, std::size_t bytes);
  // Writes the payload and sends the message behind it, in one post. Returns and fails as send() does.
  io::Result<std::uint32_t> write_and_send(const Write& write, std::span<const std::byte> message);
  // Posts one write of no bytes, which the peer's device acknowledges whatever its software does.
  io::Result<void> probe();

  enum class Kind : std::uint8_t { received, sent, written, probed };
  struct Completion {
    Kind kind;
    std::uint32_t index;
    ibv_wc_status status;
    std::uint32_t bytes;  // received
  };
  // Takes completions into the first of `room` and returns these. A write has one of its own only if it
  // fails, or with iWARP; the message behind it always has one. Returns none for ever once the queue is
  // broken().
  std::span<const Completion> poll(std::span<Completion> room);
  // True if the device failed to say what has completed (ibv_poll_cq(3)). Nothing more can be learnt then.
  bool broken() const { return broken_; }
  // Takes one completion, for the handshake, or arms the bell. A broken queue has one of IBV_WC_GENERAL_ERR.
  std::optional<Completion> next();
  // Returns the message of a successful receive; valid until repost().
  std::span<const std::byte> received(const Completion& completion) const;
  io::Result<void> repost(std::uint32_t index);

  // The bell: fd() becomes readable with the first completion after arm(). The caller must poll once more
  // after arming it, before it waits.
  int fd() const { return channel_->fd; }
  bool armed() const { return armed_; }
  io::Result<void> arm();
  // Returns false if the bell has not rung.
  bool take_bell();

  bool can_send() const { return !free_messages_.empty(); }
  bool probing() const { return probing_; }
  std::uint32_t sends_under_way() const {
    return messages_max_ - static_cast<std::uint32_t>(free_messages_.size());
  }
  bool drained() const { return sends_under_way() == 0 && receives_posted_ == 0 && !probing_; }
  // Makes everything that is under way end with an error.
  void flush();
  // Destroys the queue pair. The device touches no memory any more after this, and nothing completes.
  void destroy_queue_pair();

 private:
  RdmaQueue(const RdmaQueueSizes& sizes, io::Arena room);
  io::Result<void> make_queues(const QueuePairPlace& place, const RdmaQueueSizes& sizes, unsigned vector);
  io::Result<void> make_queue_pair(const QueuePairPlace& place, const RdmaQueueSizes& sizes);
  void fill_requests(const QueuePairPlace& place);
  std::span<std::byte> message_room(std::uint32_t index) const;
  std::span<std::byte> receive_room(std::uint32_t index) const;
  std::span<std::byte> padded_room() const;
  std::uint32_t prepare(std::span<const std::byte> message);
  io::Result<std::uint32_t> post(ibv_send_wr& first, std::uint32_t index);
  Completion take(const ibv_wc& completion);
  Completion take_receive(std::uint32_t index, const ibv_wc& completion);

  // The work requests for a message with the write before it, and for a receive. All but lengths and
  // addresses is filled in once.
  struct Send {
    ibv_sge payload{};
    ibv_sge message{};
    ibv_send_wr write{};
    ibv_send_wr send{};
  };
  struct Receive {
    ibv_sge room{};
    ibv_recv_wr receive{};
  };

  std::uint32_t messages_max_;
  io::Arena room_;
  std::vector<Send> sends_;
  std::vector<Receive> receives_;
  ibv_send_wr probe_{};
  std::vector<std::uint32_t> free_messages_;
  std::uint32_t receives_posted_ = 0;
  bool probing_ = false;
  bool armed_ = false;
  bool broken_ = false;
  std::uint32_t inline_bytes_ = 0;  // messages up to this size are copied when they are posted
  ProtectionDomain pd_;
  CompletionChannel channel_;
  CompletionQueue cq_;
  MemoryRegion room_mr_;
  QueuePair qp_;
};

}  // namespace rdcp::net
