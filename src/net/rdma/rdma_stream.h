// What the RDMA stream's two sides have in common: completions, events and ends. Within net only.
//
// One coroutine, the pump, takes completions while there are any and else waits, through the ring, on one
// epoll descriptor: completions, CM events, device events and a timer for the end.
//
// The end, of any kind: the connection is disconnected, which flushes what is under way; when all of it has
// completed, or a little later at most, the queue pair is destroyed. Only then is a payload, whose SEND has
// not completed, given back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/fd.h"
#include "io/task.h"
#include "net/rdma/device_watch.h"
#include "net/rdma/rdma.h"
#include "net/rdma/rdma_connection.h"
#include "net/stream/record_layer.h"
#include "net/stream/stream.h"

namespace rdcp::net {

// Where the target's slots lie.
struct SlotRegion {
  std::uint64_t address = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t rkey = 0;
  bool operator==(const SlotRegion&) const = default;
};
inline constexpr std::size_t kRegionBytes = 32;
std::array<std::byte, kRegionBytes> encode(const SlotRegion& region);
// Error (protocol): not a region.
io::Result<SlotRegion> decode_region(std::span<const std::byte> message);

// Where the payloads of a sealed stream depart and land, so that plaintext lies where no device reaches.
// Null: nothing is sealed, or there is no memory.
std::shared_ptr<io::Arena> arena_between(const RecordLayer& envelope, std::size_t slots,
                                         std::size_t slot_bytes);

class RdmaStream : public Stream {
 public:
  // What a stream is made of, besides its ring and its arena.
  struct Parts {
    RdmaConnectionPtr connection;
    StreamShape shape;
    std::shared_ptr<io::Arena> between;  // where payloads lie as they travel, if that is not the arena
    RecordLayer envelope;
  };
  ~RdmaStream() override;
  void start() override;
  bool idle() const override { return pump_.done(); }
  std::string description() const override;
  bool locks_arena() const override { return true; }
  void check_connection() override;

 protected:
  RdmaStream(io::Ring& ring, Side side, Parts parts, io::Arena& arena);
  const StreamShape& shape() const { return shape_; }

  // The first things that a side says.
  virtual void begin() {}
  virtual void take_message(std::span<const std::byte> message) = 0;
  // The device is done with a message and with the payload before it. Not called for one that failed while
  // the stream is not shut yet: all_sent() is, when it is.
  virtual void sent(std::uint32_t index) = 0;
  // The device is done with everything.
  virtual void all_sent() {}

  void close_connection() override;
  // A frame that has arrived; nothing when the stream was shut for it.
  std::optional<Frame> frame_of(std::span<const std::byte> message);
  // Shuts the stream, unless it is over.
  void fail(const io::Error& why);
  // What is wrong with what the peer sent.
  void refuse(const io::Error& error) { shut_for(peer_error(error.kind, error.detail)); }

  RecordLayer& envelope() { return envelope_; }
  // What is registered with the device: the arena, or what stands between it and the wire.
  io::Arena& registered() { return between_ ? *between_ : arena_; }
  bool has_between() const { return between_ != nullptr; }

  RdmaQueue& queue() { return connection_->queue(); }
  const ibv_mr& memory() const { return *memory_; }
  // Nothing is sent any more.
  bool closing() const { return closing_; }

 private:
  static constexpr std::size_t kTakenAtOnce = 16;

  io::Result<void> set_up_waiting();
  io::Result<void> register_memory(Side side);
  io::Task pump();
  bool finished() const;
  bool take_completions();
  void take(const RdmaQueue::Completion& completion);
  void take_received(const RdmaQueue::Completion& completion);
  void take_failure(ibv_wc_status status);
  void take_events();
  void take_cm_events();
  void take_device_events();
  void settle();

  const StreamShape shape_;
  RdmaConnectionPtr connection_;
  std::string peer_;
  std::string description_;
  DeviceWatch device_;
  RecordLayer envelope_;
  io::Arena& arena_;
  const std::shared_ptr<io::Arena> between_;
  MemoryRegion memory_;
  io::Fd timer_;
  io::Fd waiting_;  // epoll
  bool closing_ = false;
  bool stuck_ = false;  // cannot wait for completions
  io::Clock::time_point close_until_;
  io::Clock::time_point last_sign_ = io::Clock::now();  // of life from the peer
  io::Clock::time_point probed_at_;
  io::Task pump_;
};

}  // namespace rdcp::net
