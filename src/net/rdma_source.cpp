#include <cassert>
#include <utility>
#include <vector>

#include "net/rdma_stream.h"

namespace rdcp::net {
namespace {

class RdmaSource final : public RdmaStream {
 public:
  RdmaSource(io::Ring& ring, RdmaConnectionPtr connection, const StreamShape& shape, io::Arena& arena)
      : RdmaStream(ring, Side::source, std::move(connection), shape, arena),
        arena_(arena),
        sending_(rdma_queue_sizes(true, shape.target_slots).messages) {}

 private:
  void post_send(SendAwaiter& awaiter) override;
  void post_credit(const Frame&) override { assert(false); }
  void take_message(std::span<const std::byte> message) override;
  void sent(std::uint32_t index) override;
  void all_sent() override;

  void take_region(std::span<const std::byte> message);
  io::Result<std::uint32_t> post(const Frame& frame, std::span<const std::byte> payload);
  [[maybe_unused]] bool in_arena(std::span<const std::byte> payload) const;

  io::Arena& arena_;
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

io::Result<std::uint32_t> RdmaSource::post(const Frame& frame, std::span<const std::byte> payload) {
  assert(in_arena(payload));
  if (payload.empty()) return queue().send(encode(frame));
  const RdmaQueue::Write write{payload, memory().lkey, region_->address + frame.slot * region_->slot_bytes,
                               region_->rkey};
  return queue().write_and_send(write, encode(frame));
}

bool RdmaSource::in_arena(std::span<const std::byte> payload) const {
  const std::span<std::byte> all = arena_.all();
  return payload.empty() ||
         (payload.data() >= all.data() && payload.data() + payload.size() <= all.data() + all.size());
}

void RdmaSource::take_message(std::span<const std::byte> message) {
  if (!region_) return take_region(message);
  if (const auto frame = frame_of(message)) deliver(*frame);
}

void RdmaSource::take_region(std::span<const std::byte> message) {
  const auto region = decode_region(message);
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
                                         const StreamShape& shape, io::Arena& arena) {
  return std::make_unique<RdmaSource>(ring, std::move(connection), shape, arena);
}

}  // namespace rdcp::net
