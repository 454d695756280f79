#include <cassert>
#include <utility>
#include <vector>

#include "net/rdma_stream.h"

namespace rdcp::net {
namespace {

class RdmaSource final : public RdmaStream {
 public:
  RdmaSource(io::Ring& ring, RdmaConnectionPtr connection, const StreamShape& shape, io::Arena& arena,
             Envelope with)
      : RdmaStream(ring, Side::source, std::move(connection), shape, nullptr, arena, std::move(with)),
        sending_(rdma_queue_sizes(true, shape.target_slots).messages) {
    if (envelope().packs() && !envelope().packs_for_slow_links()) make_room_to_pack(shape);
  }
  bool seals_in_place() const override { return seals_; }

 private:
  void post_send(SendAwaiter& awaiter) override;
  void post_credit(const Frame&) override { assert(false); }
  void take_message(std::span<const std::byte> message) override;
  void sent(std::uint32_t index) override;
  void all_sent() override;

  void make_room_to_pack(const StreamShape& shape);
  void take_region(std::span<const std::byte> message);
  io::Result<std::uint32_t> post(Frame& frame, std::span<std::byte>& payload);
  [[maybe_unused]] bool in_arena(std::span<const std::byte> payload);

  std::optional<io::Arena> packed_;  // a slot for each of the target's
  MemoryRegion packed_memory_;
  const bool seals_ = envelope().seals();
  std::optional<SlotRegion> region_;
  std::vector<SendAwaiter*> sending_;  // by message
  io::WaiterQueue stranded_;           // of SendAwaiter: could not be posted
};

void RdmaSource::post_send(SendAwaiter& awaiter) {
  if (closing()) return stranded_.push(awaiter);
  const auto index = post(awaiter.frame(), awaiter.payload());
  if (!index) {
    stranded_.push(awaiter);
    shut(index.error());
  } else if (awaiter.payload().empty()) {
    // The frame was copied. So an end is handed over now: a target that has it may be gone before its
    // device's acknowledgement, which gets lost on a bad link, is sent again.
    complete_send(awaiter);
  } else {
    sending_[*index] = &awaiter;
  }
}

// Packed payloads are sent from memory of their own. Where it cannot be registered, nothing is packed.
void RdmaSource::make_room_to_pack(const StreamShape& shape) {
  auto room = io::Arena::create(shape.target_slots, shape.slot_bytes);
  if (!room) return;
  packed_memory_.reset(
      ibv_reg_mr(&queue().pd(), room->all().data(), room->all().size(), IBV_ACCESS_LOCAL_WRITE));
  if (packed_memory_) packed_ = std::move(*room);
}

io::Result<std::uint32_t> RdmaSource::post(Frame& frame, std::span<std::byte>& payload) {
  assert(in_arena(payload));
  const bool may_pack = packed_ && !payload.empty();
  const auto message = envelope().wrap(
      frame, payload, may_pack ? packed_->slot(frame.slot).first(payload.size()) : payload.first(0));
  if (!message) return message.error();
  if (payload.empty()) return queue().send(message->bytes());
  const std::uint32_t lkey = frame.packed != 0 ? packed_memory_->lkey : memory().lkey;
  const RdmaQueue::Write write{payload, lkey, region_->address + frame.slot * region_->slot_bytes,
                               region_->rkey};
  return queue().write_and_send(write, message->bytes());
}

bool RdmaSource::in_arena(std::span<const std::byte> payload) {
  const std::span<std::byte> all = registered().all();
  return payload.empty() ||
         (payload.data() >= all.data() && payload.data() + payload.size() <= all.data() + all.size());
}

void RdmaSource::take_message(std::span<const std::byte> message) {
  if (!region_) return take_region(message);
  if (const auto frame = frame_of(message)) deliver(*frame);
}

void RdmaSource::take_region(std::span<const std::byte> message) {
  const auto opened = envelope().open_message(message);
  if (!opened) return refuse(opened.error());
  const auto region = decode_region(*opened);
  if (!region) return shut(peer_error(io::ErrorKind::protocol, "did not say where its slots are"));
  if (region->slots < target_slots() || region->slot_bytes < slot_bytes()) {
    return shut(peer_error(io::ErrorKind::protocol, "has fewer or smaller slots than it was to have"));
  }
  region_ = *region;
}

void RdmaSource::sent(std::uint32_t index) {
  if (SendAwaiter* awaiter = std::exchange(sending_[index], nullptr)) complete_send(*awaiter);
}

void RdmaSource::all_sent() {
  for (std::uint32_t index = 0; index < sending_.size(); ++index) sent(index);
  while (io::Waiter* awaiter = stranded_.pop()) complete_send(static_cast<SendAwaiter&>(*awaiter));
}

}  // namespace

std::unique_ptr<Stream> make_rdma_source(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena, Envelope envelope) {
  return std::make_unique<RdmaSource>(ring, std::move(connection), shape, arena, std::move(envelope));
}

}  // namespace rdcp::net
