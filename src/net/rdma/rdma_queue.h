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
#include "net/rdma/verbs.h"
#include "net/stream/record_layer.h"

namespace rdcp::net {

inline constexpr std::size_t kMessageBytesMax = kSealedFrameBytes;

// How much can be under way at once. What a peer may rightfully send is never more than `receives`, so it
// never finds the receiver not ready.
struct RdmaQueueSizes {
  std::uint32_t messages = 0;  // being sent
  std::uint32_t writes = 0;
  std::uint32_t receives = 0;
};
// For a stream of so many slots and its handshake.
RdmaQueueSizes rdma_queue_sizes(bool source, std::uint32_t target_slots);

class RdmaQueue {
 public:
  // Of an id whose device is known; it outlives the queue. All receives are posted. Errors (connection): the
  // device's limits, or what it refused.
  static io::Result<std::unique_ptr<RdmaQueue>> create(rdma_cm_id& id, const RdmaQueueSizes& sizes);
  RdmaQueue(const RdmaQueue&) = delete;
  RdmaQueue& operator=(const RdmaQueue&) = delete;

  ibv_pd& pd() { return *pd_; }

  // Where a payload comes from and goes to.
  struct Write {
    std::span<const std::byte> payload;
    std::uint32_t lkey;
    std::uint64_t address;  // at the peer
    std::uint32_t rkey;
  };
  // A number for the message, below sizes.messages, which its completion bears. The message is copied at
  // once. Error (connection): the device took it not, or no more than the write. At most sizes.messages may
  // be under way.
  io::Result<std::uint32_t> send(std::span<const std::byte> message);
  // The payload, and the message behind it, in one post.
  io::Result<std::uint32_t> write_and_send(const Write& write, std::span<const std::byte> message);
  // A write of no bytes, which the peer's device answers whatever its software does. One at a time.
  io::Result<void> probe();

  enum class Kind : std::uint8_t { received, sent, written, probed };
  struct Completion {
    Kind kind;
    std::uint32_t index;
    ibv_wc_status status;
    std::uint32_t bytes;  // received
  };
  // What has completed: the first of `room` are filled and returned. A write completes by itself only when it
  // fails; the message behind it does in any case.
  std::span<const Completion> poll(std::span<Completion> room);
  // One of them, for the handshake; rings the bell for the next one when there is none.
  std::optional<Completion> next();
  // The message of a successful receive; valid until repost().
  std::span<const std::byte> received(const Completion& completion) const;
  io::Result<void> repost(std::uint32_t index);

  // The bell: fd() becomes readable with the first completion after arm(). Whoever arms it polls once more
  // before waiting.
  int fd() const { return channel_->fd; }
  bool armed() const { return armed_; }
  io::Result<void> arm();
  // False: it has not rung.
  bool take_bell();

  bool can_send() const { return !free_messages_.empty(); }
  bool probing() const { return probing_; }
  std::uint32_t sends_under_way() const {
    return messages_max_ - static_cast<std::uint32_t>(free_messages_.size());
  }
  bool drained() const { return sends_under_way() == 0 && receives_posted_ == 0 && !probing_; }
  // Everything that is under way ends with an error.
  void flush();
  // Destroys the queue pair: the device touches no memory any more, and nothing completes.
  void destroy_queue_pair();

 private:
  RdmaQueue(const RdmaQueueSizes& sizes, io::Arena room);
  io::Result<void> make_queues(rdma_cm_id& id, const RdmaQueueSizes& sizes);
  io::Result<void> make_queue_pair(rdma_cm_id& id, const RdmaQueueSizes& sizes);
  void fill_requests();
  std::span<std::byte> message_room(std::uint32_t index) const;
  std::span<std::byte> receive_room(std::uint32_t index) const;
  std::uint32_t prepare(std::span<const std::byte> message);
  io::Result<std::uint32_t> post(ibv_send_wr& first, std::uint32_t index);
  Completion take(const ibv_wc& completion);

  // What is posted for a message and the write before it, and for a receive. All but lengths and addresses is
  // filled in once.
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
  bool sends_inline_ = false;

  ProtectionDomain pd_;
  CompletionChannel channel_;
  CompletionQueue cq_;
  MemoryRegion room_mr_;
  QueuePair qp_;
};

}  // namespace rdcp::net
