#include "net/stream/stream.h"

#include <cassert>
#include <utility>

namespace rdcp::net {

namespace {

Frame credit_frame(std::uint32_t slot, AckStatus status) {
  Frame frame;
  frame.kind = FrameKind::credit;
  frame.slot = slot;
  frame.status = status;
  return frame;
}

}  // namespace

Stream::Stream(io::Ring& ring, Side side, const StreamShape& shape, std::string peer)
    : ring_(ring),
      side_(side),
      slot_bytes_(shape.slot_bytes),
      peer_(std::move(peer)),
      slots_(shape.target_slots),
      free_(side == Side::source ? shape.target_slots : 0),
      received_(side == Side::target ? shape.target_slots : 0) {}

// A chunk that is still on its way does not arrive any more.
Stream::~Stream() {
  if (arriving_ == nullptr) return;
  for (const Slot& slot : slots_) {
    if (slot.state == SlotState::filling) arriving_->leave();
  }
}

Stream::CreditAwaiter Stream::credit() {
  return CreditAwaiter(*this);
}

Stream::SendAwaiter Stream::send(const Frame& frame, std::span<const std::byte> payload) {
  return SendAwaiter(*this, frame, payload);
}

Stream::AckAwaiter Stream::acknowledged(std::uint32_t slot, Verdicts* verdicts) {
  return AckAwaiter(*this, slot, verdicts);
}

Stream::ReceiveAwaiter Stream::receive() {
  return ReceiveAwaiter(*this);
}

void Stream::release(std::uint32_t slot, AckStatus status, const Verdicts& verdicts) {
  assert(side_ == Side::target && slot < slots_.size() && status != AckStatus::granted);
  if (shut_down()) return;
  assert(slots_[slot].state == SlotState::filled);
  slots_[slot].state = SlotState::granted;
  --busy_count_;
  Frame credit = credit_frame(slot, status);
  credit.set_verdicts(verdicts);
  post_credit(credit);
}

void Stream::shut(const io::Error& why) {
  if (!shut_down()) {
    tell_shut(why);
  } else if (!std::exchange(held_, false)) {
    return;
  }
  close_connection();
}

void Stream::shut_for(const io::Error& why) {
  if (shut_down()) return;
  if (why.kind != io::ErrorKind::digest) return shut(why);
  held_ = true;
  tell_shut(why);
}

void Stream::tell_shut(const io::Error& why) {
  why_shut_ = why;
  wake_all(credit_waiters_);
  wake_all(receive_waiters_);
  for (Slot& slot : slots_) {
    if (slot.waiter != nullptr) ring_.schedule(*std::exchange(slot.waiter, nullptr));
  }
}

io::Error Stream::peer_error(io::ErrorKind kind, std::string_view detail) const {
  return io::plain_error(kind, "peer", peer_, detail);
}

io::Error Stream::peer_errno(int code) const {
  return io::errno_error("peer", peer_, code, io::ErrorKind::connection);
}

void Stream::grant_all() {
  assert(side_ == Side::target);
  for (std::uint32_t slot = 0; slot < target_slots(); ++slot) {
    slots_[slot].state = SlotState::granted;
    post_credit(credit_frame(slot, AckStatus::granted));
  }
}

void Stream::take_for_granted() {
  assert(side_ == Side::source);
  awaited_grants_ = target_slots();
  for (std::uint32_t slot = 0; slot < target_slots(); ++slot) {
    slots_[slot].grant_awaited = true;
    make_free(slot);
  }
}

void Stream::complete_send(SendAwaiter& awaiter) {
  if (!shut_down()) {
    if (awaiter.frame().kind == FrameKind::end) ended_ = true;
    ++counters_.frames;
    counters_.payload_bytes += awaiter.frame().length;
    counters_.wire_bytes += wire_bytes(awaiter.frame());
  }
  ring_.schedule(awaiter);
}

io::Result<void> Stream::accept(const Frame& frame) {
  if (shut_down()) return *why_shut_;
  const char* fault = side_ == Side::source ? fault_at_source(frame) : fault_at_target(frame);
  if (fault != nullptr) {
    shut(peer_error(io::ErrorKind::protocol, fault));
    return *why_shut_;
  }
  if (takes_slot(frame.kind)) {
    slots_[frame.slot].state = SlotState::filling;
    if (arriving_ != nullptr) arriving_->enter();
    ++busy_count_;
  }
  return {};
}

void Stream::deliver(const Frame& frame) {
  if (shut_down()) return;
  if (side_ == Side::source) {
    take_credit(frame);
  } else if (frame.kind == FrameKind::end) {
    ended_ = true;
    cut_short_ = (frame.flags & kFlagCutShort) != 0;
    wake_all(receive_waiters_);
  } else {
    hand_to_receiver(frame);
  }
}

const char* Stream::fault_at_source(const Frame& frame) const {
  if (frame.kind != FrameKind::credit) return "sent a frame that only a source may send";
  if (frame.slot >= slots_.size()) return "gave a credit for a slot that it does not have";
  const Slot& slot = slots_[frame.slot];
  if (frame.status == AckStatus::granted) {
    const bool may_come = slot.state == SlotState::unknown || slot.grant_awaited;
    return may_come ? nullptr : "granted a slot twice";
  }
  if (slot.state != SlotState::busy) return "acknowledged a chunk that is not under way";
  return may_answer(slot.sent, slot.sent_flags, frame) ? nullptr
                                                       : "gave an answer that does not fit the chunk";
}

const char* Stream::fault_at_target(const Frame& frame) const {
  if (ended_) return "sent a frame after the end";
  if (frame.kind == FrameKind::end) return nullptr;
  if (!takes_slot(frame.kind)) return "sent a frame that only a target may send";
  if (frame.slot >= slots_.size()) return "sent a chunk for a slot that does not exist";
  if (slots_[frame.slot].state != SlotState::granted)
    return "sent a chunk for a slot that it was not granted";
  if (frame.length > slot_bytes_) return "sent a chunk that is longer than a slot";
  return nullptr;
}

void Stream::take_credit(const Frame& frame) {
  Slot& slot = slots_[frame.slot];
  if (frame.status == AckStatus::granted) {
    if (!std::exchange(slot.grant_awaited, false)) return make_free(frame.slot);
    --awaited_grants_;
    return;
  }
  slot.state = SlotState::answered;
  slot.status = frame.status;
  slot.verdicts = frame.verdicts();
  --busy_count_;
  if (slot.waiter != nullptr) ring_.schedule(*std::exchange(slot.waiter, nullptr));
}

// The receiver need not know how the payload travelled.
void Stream::hand_to_receiver(Frame frame) {
  slots_[frame.slot].state = SlotState::filled;
  if (arriving_ != nullptr) arriving_->leave();
  ++counters_.frames;
  counters_.payload_bytes += frame.length;
  counters_.wire_bytes += wire_bytes(frame);
  frame.packed = 0;
  frame.tag = {};
  if (auto* receiver = static_cast<ReceiveAwaiter*>(receive_waiters_.pop())) {
    receiver->frame_ = frame;
    ring_.schedule(*receiver);
  } else {
    received_.push(frame);
  }
}

void Stream::make_free(std::uint32_t slot) {
  if (auto* waiter = static_cast<CreditAwaiter*>(credit_waiters_.pop())) {
    slots_[slot].state = SlotState::credited;
    waiter->slot_ = slot;
    ring_.schedule(*waiter);
  } else {
    slots_[slot].state = SlotState::free;
    free_.push(slot);
  }
}

void Stream::wake_all(io::WaiterQueue& waiters) {
  while (io::Waiter* waiter = waiters.pop()) ring_.schedule(*waiter);
}

std::uint64_t StreamAwaiter::waited_ns() const {
  if (!since_) return 0;
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(io::Clock::now() - *since_).count());
}

bool Stream::CreditAwaiter::await_ready() {
  assert(stream_.side_ == Side::source);
  if (stream_.shut_down()) return true;
  if (stream_.free_.empty()) return false;
  slot_ = stream_.free_.pop();
  stream_.slots_[*slot_].state = SlotState::credited;
  return true;
}

void Stream::CreditAwaiter::await_suspend(std::coroutine_handle<> waiter) {
  begin_wait(waiter);
  stream_.credit_waiters_.push(*this);
}

io::Result<std::uint32_t> Stream::CreditAwaiter::await_resume() {
  stream_.counters_.times.credit_ns += waited_ns();
  if (stream_.shut_down()) return *stream_.why_shut_;
  return *slot_;
}

Stream::SendAwaiter::SendAwaiter(Stream& stream, const Frame& frame, std::span<const std::byte> payload)
    : StreamAwaiter(stream), frame_(frame), payload_(payload) {
  assert(stream.side_ == Side::source && payload.size() == frame.length &&
         frame.length <= stream.slot_bytes_);
}

bool Stream::SendAwaiter::await_ready() const {
  return stream_.shut_down();
}

void Stream::SendAwaiter::await_suspend(std::coroutine_handle<> waiter) {
  begin_wait(waiter);
  assert(!stream_.ended_);
  if (takes_slot(frame_.kind)) {
    Slot& slot = stream_.slots_[frame_.slot];
    assert(slot.state == SlotState::credited);
    slot.state = SlotState::busy;
    slot.sent = frame_.kind;
    slot.sent_flags = frame_.flags;
    ++stream_.busy_count_;
  }
  stream_.post_send(*this);
}

io::Result<void> Stream::SendAwaiter::await_resume() {
  stream_.counters_.times.send_ns += waited_ns();
  if (stream_.shut_down()) return *stream_.why_shut_;
  return {};
}

Stream::AckAwaiter::AckAwaiter(Stream& stream, std::uint32_t slot, Verdicts* verdicts)
    : StreamAwaiter(stream), slot_(slot), verdicts_(verdicts) {
  assert(stream.side_ == Side::source && slot < stream.slots_.size());
}

bool Stream::AckAwaiter::await_ready() const {
  return stream_.shut_down() || stream_.slots_[slot_].state == SlotState::answered;
}

void Stream::AckAwaiter::await_suspend(std::coroutine_handle<> waiter) {
  begin_wait(waiter);
  assert(stream_.slots_[slot_].state == SlotState::busy && stream_.slots_[slot_].waiter == nullptr);
  stream_.slots_[slot_].waiter = this;
}

io::Result<AckStatus> Stream::AckAwaiter::await_resume() {
  if (stream_.shut_down()) return *stream_.why_shut_;
  const AckStatus status = stream_.slots_[slot_].status;
  if (verdicts_ != nullptr) *verdicts_ = stream_.slots_[slot_].verdicts;
  stream_.make_free(slot_);
  return status;
}

bool Stream::ReceiveAwaiter::await_ready() {
  assert(stream_.side_ == Side::target);
  if (stream_.shut_down()) return true;
  if (!stream_.received_.empty()) {
    frame_ = stream_.received_.pop();
    return true;
  }
  return stream_.ended_;
}

void Stream::ReceiveAwaiter::await_suspend(std::coroutine_handle<> waiter) {
  begin_wait(waiter);
  stream_.receive_waiters_.push(*this);
}

io::Result<std::optional<Frame>> Stream::ReceiveAwaiter::await_resume() {
  stream_.counters_.times.receive_ns += waited_ns();
  if (stream_.shut_down()) return *stream_.why_shut_;
  return frame_;
}

}  // namespace rdcp::net
