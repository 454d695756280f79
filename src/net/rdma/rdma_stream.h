// The common part of the RDMA stream's two sides: completions, events and ends. For use within net only.
//
// One coroutine, the pump, takes completions while there are any. Otherwise it waits, through the ring, on
// one epoll descriptor for completions, CM events, device events and a timer for the end.
//
// Every end is the same: the connection is disconnected, which flushes what is under way. When all of it has
// completed, or after kFlushMax at most, the queue pair is destroyed. Only then is a payload whose SEND has
// not completed given back.
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

// Where the target's slots are, as the target tells the source.
struct SlotRegion {
  std::uint64_t address = 0;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t rkey = 0;
  bool operator==(const SlotRegion&) const = default;
};
inline constexpr std::size_t kRegionBytes = 32;
std::array<std::byte, kRegionBytes> encode(const SlotRegion& region);
// Error (protocol): it is not a region.
io::Result<SlotRegion> decode_region(std::span<const std::byte> message);

// Makes the memory that a sealed stream's payloads are sent from or arrive in, so that plaintext stays where
// no device reaches. Returns null if nothing is sealed, or if there is no memory.
std::shared_ptr<io::Arena> arena_between(const RecordLayer& record_layer, std::size_t slots,
                                         std::size_t slot_bytes);

// The access to memory that payloads lie in. Relaxed ordering lets the host's bridge reorder a payload's
// reads and writes, but never past the completion of what follows. Devices without it ignore it.
inline constexpr unsigned kPayloadAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;

class RdmaStream : public Stream {
 public:
  // A stream is made of these, its ring and its arena.
  struct Parts {
    RdmaConnectionPtr connection;
    StreamShape shape;
    std::shared_ptr<io::Arena> between;  // where payloads lie as they travel, if that is not the arena
    RecordLayer record_layer;
  };
  ~RdmaStream() override;
  void start() override;
  bool idle() const override { return pump_.done(); }
  std::string description() const override;
  bool sealed() const override { return record_layer_.seals(); }
  bool locks_arena() const override { return true; }
  std::optional<double> rate_max() const override;
  void check_connection(io::Clock::time_point now) override;

 protected:
  RdmaStream(io::Ring& ring, Side side, Parts parts, io::Arena& arena);
  const StreamShape& shape() const { return shape_; }

  // Sends what this side says first.
  virtual void begin() {}
  virtual void take_message(std::span<const std::byte> message) = 0;
  // Called when the device is done with a message and with the payload before it. If a message fails while
  // the stream is not shut yet, it is not called for it; all_sent() comes once the stream has ended.
  virtual void sent(std::uint32_t index) = 0;
  // Called when the device is done with everything.
  virtual void all_sent() {}

  void close_connection() override;
  // Returns the frame that has arrived, or nothing if the stream was shut because of it.
  std::optional<Frame> frame_of(std::span<const std::byte> message);
  // Shuts the stream with an error, unless it is over; then only closes the connection.
  void fail(const io::Error& why);
  // To be called if the device has refused what was posted.
  void take_refusal(const io::Error& why);
  // Shuts the stream because of what the peer sent.
  void refuse(const io::Error& error) { shut_for(peer_error(error.kind, error.detail)); }

  RecordLayer& record_layer() { return record_layer_; }
  // The memory that is registered with the device: the arena, or what stands between it and the wire.
  io::Arena& registered() { return between_ ? *between_ : arena_; }
  bool has_between() const { return between_ != nullptr; }

  RdmaQueue& queue() { return connection_->queue(); }
  const ibv_mr& memory() const { return *memory_; }
  // True if nothing is sent any more.
  bool closing() const { return closing_; }

 private:
  static constexpr std::size_t kTakenAtOnce = 16;

  io::Result<void> set_up_waiting();
  io::Result<void> register_memory(Side side);
  io::Task pump();
  bool finished() const;
  bool take_completions();
  bool give_up_queue();
  void take(const RdmaQueue::Completion& completion);
  void take_farewell();
  void take_received(const RdmaQueue::Completion& completion);
  bool shows_life(const RdmaQueue::Completion& completion) const;
  void note_life();
  void beat(io::Clock::time_point now);
  void probe(io::Clock::time_point now);
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
  RecordLayer record_layer_;
  io::Arena& arena_;
  const std::shared_ptr<io::Arena> between_;
  MemoryRegion memory_;
  io::Fd timer_;
  io::Fd waiting_;  // epoll
  bool closing_ = false;
  bool stuck_ = false;  // cannot wait for completions
  bool receive_failed_ = false;
  io::Clock::time_point close_until_;
  io::Clock::time_point last_sign_ = io::Clock::now();  // when the peer last showed a sign of life
  io::Clock::time_point probed_at_;                     // or beat
  bool heard_ = false;                                  // anything of the peer's stream
  std::uint32_t beats_in_silence_ = 0;  // that were sent since the peer last showed a sign of life
  std::optional<std::uint32_t> beat_;   // the number of a beat that is being sent
  io::Task pump_;
};

}  // namespace rdcp::net
