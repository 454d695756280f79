#include <cassert>
#include <utility>
#include <vector>

#include "net/rdma/rdma_stream.h"
#include "net/stream/compression_controller.h"
#include "net/stream/inflight_bytes.h"

namespace rdcp::net {
namespace {

class RdmaSource final : public RdmaStream {
 public:
  RdmaSource(io::Ring& ring, Parts parts, io::Arena& arena)
      : RdmaStream(ring, Side::source, std::move(parts), arena),
        arena_(arena),
        sending_(rdma_queue_sizes(true, shape().target_slots).messages) {
    can_pack_ = record_layer().packs();
    if (can_pack_ && !record_layer().seals()) make_room_to_pack(shape());
  }

 private:
  void post_send(SendAwaiter& awaiter) override;
  void post_credit(const Frame&) override { assert(false); }
  void take_message(std::span<const std::byte> message) override;
  void sent(std::uint32_t index) override;
  void all_sent() override;

  void make_room_to_pack(const StreamShape& shape);
  // True if packing the next payload should be tried.
  bool may_pack();
  void take_region(std::span<const std::byte> message);
  std::span<std::byte> room_for(const Frame& frame);
  io::Result<std::uint32_t> post(const Frame& frame, std::span<const std::byte> payload,
                                 std::span<const std::byte> message);
  [[maybe_unused]] bool in_arena(std::span<const std::byte> payload);

  std::optional<io::Arena> packed_;  // has a slot for each of the target's
  MemoryRegion packed_memory_;
  io::Arena& arena_;
  bool can_pack_ = false;
  CompressionController link_;
  InflightBytes under_way_;
  std::optional<SlotRegion> region_;
  std::vector<SendAwaiter*> sending_;  // by the message's number
  io::WaiterQueue stranded_;           // of SendAwaiter; they could not be posted
};

void RdmaSource::post_send(SendAwaiter& awaiter) {
  if (closing()) return stranded_.push(awaiter);
  assert(in_arena(awaiter.payload()));
  const auto message = record_layer().wrap(awaiter.frame(), awaiter.payload(), room_for(awaiter.frame()),
                                           !awaiter.payload().empty() && may_pack());
  if (!message) {
    stranded_.push(awaiter);
    return shut(message.error());
  }
  const auto index = post(awaiter.frame(), awaiter.payload(), message->bytes());
  if (!index) {
    stranded_.push(awaiter);
    take_refusal(index.error());
  } else if (awaiter.payload().empty()) {
    // The frame was copied, so the send is complete now. This matters for an end: once the target has it, the
    // target may be gone before its device repeats an acknowledgement that was lost on a bad link.
    complete_send(awaiter);
  } else {
    sending_[*index] = &awaiter;
  }
}

// If nothing is sealed, packed payloads are sent from memory of their own, others from the arena. If that
// memory cannot be registered, nothing is packed.
void RdmaSource::make_room_to_pack(const StreamShape& shape) {
  auto room = io::Arena::create(shape.target_slots, shape.slot_bytes);
  can_pack_ = false;
  if (!room) return;
  packed_memory_.reset(ibv_reg_mr(&queue().pd(), room->all().data(), room->all().size(), kPayloadAccess));
  if (!packed_memory_) return;
  packed_ = std::move(*room);
  can_pack_ = true;
}

bool RdmaSource::may_pack() {
  if (!can_pack_ || !record_layer().packs_for_slow_links()) return can_pack_;
  const auto now = CompressionController::Clock::now();
  if (link_.due(now)) link_.take(under_way_.sample(now), record_layer().packing_speed());
  return link_.packs();
}

std::span<std::byte> RdmaSource::room_for(const Frame& frame) {
  if (!takes_slot(frame.kind)) return {};
  if (record_layer().seals()) return registered().slot(frame.slot);
  return packed_ ? packed_->slot(frame.slot) : std::span<std::byte>();
}

io::Result<std::uint32_t> RdmaSource::post(const Frame& frame, std::span<const std::byte> payload,
                                           std::span<const std::byte> message) {
  if (payload.empty()) return queue().send(message);
  const bool from_packed = frame.packed != 0 && packed_;
  const std::uint32_t lkey = from_packed ? packed_memory_->lkey : memory().lkey;
  const RdmaQueue::Write write{payload, lkey, region_->address + frame.slot * region_->slot_bytes,
                               region_->rkey};
  const auto before = CompressionController::Clock::now();
  auto index = queue().write_and_send(write, message);
  if (!index) return index;
  under_way_.posted(payload.size(), before);
  link_.handed_over(frame.length, payload.size());
  return index;
}

bool RdmaSource::in_arena(std::span<const std::byte> payload) {
  const std::span<std::byte> all = arena_.all();
  return payload.empty() ||
         (payload.data() >= all.data() && payload.data() + payload.size() <= all.data() + all.size());
}

void RdmaSource::take_message(std::span<const std::byte> message) {
  if (!region_) return take_region(message);
  if (const auto frame = frame_of(message)) deliver(*frame);
}

void RdmaSource::take_region(std::span<const std::byte> message) {
  const auto opened = record_layer().open_message(message);
  if (!opened) return refuse(opened.error());
  const auto region = decode_region(*opened);
  if (!region) return shut(peer_error(io::ErrorKind::protocol, "did not say where its slots are"));
  if (region->slots < target_slots() || region->slot_bytes < slot_bytes()) {
    return shut(peer_error(io::ErrorKind::protocol, "has fewer or smaller slots than it was to have"));
  }
  region_ = *region;
}

void RdmaSource::sent(std::uint32_t index) {
  SendAwaiter* awaiter = std::exchange(sending_[index], nullptr);
  if (awaiter == nullptr) return;
  under_way_.completed(awaiter->payload().size(), CompressionController::Clock::now());
  complete_send(*awaiter);
}

void RdmaSource::all_sent() {
  for (std::uint32_t index = 0; index < sending_.size(); ++index) sent(index);
  while (io::Waiter* awaiter = stranded_.pop()) complete_send(static_cast<SendAwaiter&>(*awaiter));
}

}  // namespace

std::unique_ptr<Stream> make_rdma_source(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena,
                                         RecordLayer record_layer) {
  std::shared_ptr<io::Arena> departing = arena_between(record_layer, shape.target_slots, shape.slot_bytes);
  const bool without_room = record_layer.seals() && !departing;
  auto stream = std::make_unique<RdmaSource>(
      ring, RdmaStream::Parts{std::move(connection), shape, std::move(departing), std::move(record_layer)},
      arena);
  if (without_room) stream->shut(io::errno_error("allocate", "slots", ENOMEM, io::ErrorKind::connection));
  return stream;
}

}  // namespace rdcp::net
