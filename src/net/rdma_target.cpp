#include <cassert>
#include <utility>
#include <vector>

#include "net/rdma_stream.h"

namespace rdcp::net {
namespace {

class RdmaTarget final : public RdmaStream {
 public:
  RdmaTarget(io::Ring& ring, RdmaConnectionPtr connection, const StreamShape& shape, io::Arena& arena)
      : RdmaStream(ring, Side::target, std::move(connection), shape, arena), arena_(arena) {
    assert(shape.target_slots <= arena.slot_count() && shape.slot_bytes <= arena.slot_bytes());
    waiting_credits_.reserve(shape.target_slots);
  }

 private:
  void begin() override;
  void post_send(SendAwaiter&) override { assert(false); }
  void post_credit(const Frame& credit) override;
  void take_message(std::span<const std::byte> message) override;
  void sent(std::uint32_t index) override;
  void send_credit(const Frame& credit);

  io::Arena& arena_;
  std::vector<Frame> waiting_credits_;  // until there is room to send them
};

void RdmaTarget::begin() {
  const SlotRegion region{reinterpret_cast<std::uint64_t>(arena_.all().data()), arena_.slot_bytes(),
                          static_cast<std::uint32_t>(arena_.slot_count()), memory().rkey};
  if (auto sent = queue().send(encode(region)); !sent) return shut(sent.error());
  grant_all();
}

void RdmaTarget::post_credit(const Frame& credit) {
  if (closing()) return;
  if (queue().can_send()) return send_credit(credit);
  // One a slot is room enough for a source that uses a slot only after it has read the credit for it.
  if (waiting_credits_.size() == target_slots()) {
    return shut(peer_error(io::ErrorKind::protocol, "sent a chunk for a slot whose credit it had not read"));
  }
  waiting_credits_.push_back(credit);
}

void RdmaTarget::send_credit(const Frame& credit) {
  if (auto sent = queue().send(encode(credit)); !sent) shut(sent.error());
}

// The payload was placed before: a queue pair's requests are carried out in their order.
void RdmaTarget::take_message(std::span<const std::byte> message) {
  if (const auto frame = frame_of(message)) deliver(*frame);
}

void RdmaTarget::sent(std::uint32_t) {
  if (closing() || waiting_credits_.empty()) return;
  const Frame credit = waiting_credits_.front();
  waiting_credits_.erase(waiting_credits_.begin());
  send_credit(credit);
}

}  // namespace

std::unique_ptr<Stream> make_rdma_target(io::Ring& ring, RdmaConnectionPtr connection,
                                         const StreamShape& shape, io::Arena& arena) {
  return std::make_unique<RdmaTarget>(ring, std::move(connection), shape, arena);
}

}  // namespace rdcp::net
