// Whatever bytes a peer sends: decode() refuses them or yields a frame that encodes to the same bytes, and a
// target that is fed with them, compressed payloads too, reads and writes nothing but its slots.
#include <cstring>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/digest.h"
#include "net/stream/frame.h"
#include "net/stream/record_layer.h"
#include "net/stream/stream.h"
#include "tests/fuzz/targets.h"

namespace rdcp::net {
namespace {

constexpr StreamShape kShape{.target_slots = 4, .slot_bytes = 4096};

using fuzz::require;

class Sink : public Stream {
 public:
  explicit Sink(io::Ring& ring) : Stream(ring, Side::target, kShape, "fuzzer") { start(); }
  void start() override { grant_all(); }
  bool idle() const override { return true; }
  std::string description() const override { return "fuzzer"; }

  // As the TCP target does: header, then payload. False when the stream is shut.
  bool take(const Frame& frame, std::span<const std::byte>& input, const io::Arena& arena) {
    if (!accept(frame)) return false;
    require(frame.kind == FrameKind::end || takes_slot(frame.kind));
    if (has_payload(frame.kind)) take_payload(frame, input, arena.slot(frame.slot).first(frame.length));
    deliver(frame);
    // Without a coroutine: what was delivered is there for the next who asks.
    ReceiveAwaiter next = receive();
    require(next.await_ready());
    const auto received = next.await_resume();
    require(received.ok() && received->has_value() == takes_slot(frame.kind));
    // Half of the slots are given back, the others never.
    if (takes_slot(frame.kind) && frame.slot % 2 == 0) release(frame.slot, AckStatus::done);
    return true;
  }

  RecordLayer& record_layer() { return record_layer_; }

 private:
  // In memory of exactly its size, so that a sanitizer sees what reads past it.
  void take_payload(const Frame& frame, std::span<const std::byte>& input, std::span<std::byte> slot) {
    std::vector<std::byte> packed(frame.packed);
    const std::span<std::byte> room = frame.packed != 0 ? std::span(packed) : slot;
    const std::size_t length = std::min(room.size(), input.size());
    if (length > 0) std::memcpy(room.data(), input.data(), length);
    input = input.subspan(length);
    require(record_layer_.open_payload(frame, room, slot).ok());
  }

  RecordLayer record_layer_ = RecordLayer::create(std::nullopt, 1, false).value();
  void post_send(SendAwaiter&) override {}
  void post_credit(const Frame&) override {}
  void close_connection() override {}
};

// Puts the right check over a header, since no mutation would ever find it.
void reseal(FrameBytes& bytes) {
  const std::uint64_t check = io::check_of(std::span(bytes).first<88>());
  for (std::size_t i = 0; i < 8; ++i) bytes[88 + i] = static_cast<std::byte>(check >> (8 * i));
}

void check_decode(const FrameBytes& bytes) {
  const auto frame = decode(bytes);
  if (frame) require(encode(*frame) == bytes);
}

void feed_target(std::span<const std::byte> input, io::Ring& ring, const io::Arena& arena) {
  Sink sink(ring);
  while (input.size() >= kFrameBytes) {
    FrameBytes header;
    std::memcpy(header.data(), input.data(), kFrameBytes);
    input = input.subspan(kFrameBytes);
    check_decode(header);
    reseal(header);
    check_decode(header);
    const auto frame = sink.record_layer().open_frame(header);
    if (!frame || !sink.take(*frame, input, arena)) return;
  }
}

}  // namespace
}  // namespace rdcp::net

namespace rdcp::fuzz {

void fuzz_frame(Bytes input) {
  static const auto ring = io::make_ring(io::RingChoice::thread_pool, 1);
  static const auto arena = io::Arena::create(net::kShape.target_slots, net::kShape.slot_bytes);
  require(ring.ok() && arena.ok());
  net::feed_target(input, **ring, *arena);
}

}  // namespace rdcp::fuzz
