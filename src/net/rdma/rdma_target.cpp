#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "net/rdma/rdma_stream.h"

namespace rdcp::net {
namespace {

class RdmaTarget final : public RdmaStream {
 public:
  RdmaTarget(io::Ring& ring, Parts parts, io::Arena& arena)
      : RdmaStream(ring, Side::target, std::move(parts), arena),
        arena_(arena),
        packed_(record_layer().packs() ? shape().slot_bytes : 0) {
    assert(shape().target_slots <= arena.slot_count() && shape().slot_bytes <= arena.slot_bytes());
    waiting_credits_.reserve(shape().target_slots);
  }

  bool peer_can_write() const override { return !has_between(); }

 private:
  void begin() override;
  void post_send(SendAwaiter&) override { assert(false); }
  void post_credit(const Frame& credit) override;
  void take_message(std::span<const std::byte> message) override;
  void sent(std::uint32_t index) override;
  void send_credit(const Frame& credit);

  io::Result<void> open_payload(const Frame& frame);

  io::Arena& arena_;
  std::vector<std::byte> packed_;       // a copy of a packed payload, which the source cannot change any more
  std::vector<Frame> waiting_credits_;  // wait until there is room to send them
};

void RdmaTarget::begin() {
  const io::Arena& slots = registered();
  const SlotRegion region{reinterpret_cast<std::uint64_t>(slots.all().data()), slots.slot_bytes(),
                          static_cast<std::uint32_t>(slots.slot_count()), memory().rkey};
  const auto message = record_layer().wrap_message(encode(region));
  if (!message) return shut(message.error());
  if (auto sent = queue().send(message->bytes()); !sent) return take_refusal(sent.error());
  grant_all();
}

void RdmaTarget::post_credit(const Frame& credit) {
  if (closing()) return;
  if (queue().can_send()) return send_credit(credit);
  // One for each slot is enough room if the source uses a slot only after it has read the credit for it.
  if (waiting_credits_.size() == target_slots()) {
    return shut(peer_error(io::ErrorKind::protocol, "sent a chunk for a slot whose credit it had not read"));
  }
  waiting_credits_.push_back(credit);
}

void RdmaTarget::send_credit(const Frame& credit) {
  const auto message = record_layer().wrap(credit);
  if (!message) return shut(message.error());
  if (auto sent = queue().send(message->bytes()); !sent) take_refusal(sent.error());
}

// The payload is already in its slot, because a queue pair's requests are carried out in order.
void RdmaTarget::take_message(std::span<const std::byte> message) {
  const auto frame = frame_of(message);
  if (!frame) return;
  if (has_payload(frame->kind)) {
    if (auto opened = open_payload(*frame); !opened) return refuse(opened.error());
  }
  deliver(*frame);
}

// Whoever knows the rkey, which is in every packet, can write into registered memory at any time. So payloads
// are opened into other memory, and no byte is read twice.
io::Result<void> RdmaTarget::open_payload(const Frame& frame) {
  const std::span<std::byte> arrived = registered().slot(frame.slot).first(wire_bytes(frame));
  const std::span<std::byte> slot = arena_.slot(frame.slot).first(frame.length);
  if (frame.packed == 0) return record_layer().open_payload(frame, arrived, slot);
  std::memcpy(packed_.data(), arrived.data(), arrived.size());
  return record_layer().open_payload(frame, std::span(packed_).first(arrived.size()), slot);
}

void RdmaTarget::sent(std::uint32_t) {
  if (closing() || waiting_credits_.empty()) return;
  const Frame credit = waiting_credits_.front();
  waiting_credits_.erase(waiting_credits_.begin());
  send_credit(credit);
}

}  // namespace

std::unique_ptr<Stream> make_rdma_target(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena,
                                         RecordLayer record_layer) {
  std::shared_ptr<io::Arena> landing = arena_between(record_layer, arena.slot_count(), arena.slot_bytes());
  const bool without_room = record_layer.seals() && !landing;
  auto stream = std::make_unique<RdmaTarget>(
      ring, RdmaStream::Parts{std::move(connection), shape, std::move(landing), std::move(record_layer)},
      arena);
  if (without_room) stream->shut(io::errno_error("allocate", "slots", ENOMEM, io::ErrorKind::connection));
  return stream;
}

}  // namespace rdcp::net
