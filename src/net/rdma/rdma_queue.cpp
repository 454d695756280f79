#include "net/rdma/rdma_queue.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

namespace rdcp::net {
namespace {

// Messages besides chunks and credits: at most two of the handshake, the region, the end, the farewell, a
// beat.
constexpr std::uint32_t kOtherMessages = 6;
constexpr std::size_t kPollAtOnce = 16;

// A work request's number is its kind, shifted by this, and its index.
constexpr unsigned kKindShift = 32;

std::uint64_t number(RdmaQueue::Kind kind, std::uint32_t index) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << kKindShift | index;
}

const char* device_of(const QueuePairPlace& place) {
  return ibv_get_device_name(place.device->device);
}

io::Error post_error(int code) {
  return io::errno_error("post to", "RDMA queue pair", code, io::ErrorKind::connection);
}

std::uint32_t requests_out(const RdmaQueueSizes& sizes) {
  return sizes.messages + sizes.writes + 1;  // the probe
}

io::Result<void> check_limits(const QueuePairPlace& place, const RdmaQueueSizes& sizes) {
  ibv_device_attr limits{};
  if (const int code = ibv_query_device(place.device, &limits))
    return device_error("query", device_of(place), code);
  const std::uint32_t requests = std::max(requests_out(sizes), sizes.receives);
  const std::uint32_t completions = requests_out(sizes) + sizes.receives;
  const auto too_small = [&](std::string_view what, int most, std::uint32_t needed) {
    return io::plain_error(io::ErrorKind::connection, "use RDMA device", device_of(place),
                           "it has room for " + std::to_string(most) + " " + std::string(what) + ", " +
                               std::to_string(needed) + " are needed: take fewer slots");
  };
  if (std::cmp_less(limits.max_qp_wr, requests)) {
    return too_small("work requests in a queue pair", limits.max_qp_wr, requests);
  }
  if (std::cmp_less(limits.max_cqe, completions)) {
    return too_small("completions in a queue", limits.max_cqe, completions);
  }
  return {};
}

}  // namespace

// A credit's SEND may still be unacknowledged when the next one for its slot is due, so the target has room
// for two per slot.
RdmaQueueSizes rdma_queue_sizes(bool source, std::uint32_t target_slots) {
  return {.messages = (source ? target_slots : 2 * target_slots) + kOtherMessages,
          .writes = source ? target_slots : 0,
          .receives = target_slots + kOtherMessages + kBeatsMax};
}

RdmaQueue::RdmaQueue(const RdmaQueueSizes& sizes, io::Arena room)
    : messages_max_(sizes.messages),
      room_(std::move(room)),
      sends_(sizes.messages),
      receives_(sizes.receives) {
  for (std::uint32_t index = sizes.messages; index > 0; --index) free_messages_.push_back(index - 1);
}

io::Result<std::unique_ptr<RdmaQueue>> RdmaQueue::create(const QueuePairPlace& place,
                                                         const RdmaQueueSizes& sizes, unsigned vector) {
  if (auto enough = check_limits(place, sizes); !enough) return enough.error();
  const std::size_t messages = (sizes.messages + sizes.receives) * kMessageBytesMax;
  auto room = io::Arena::create(1, io::round_up(messages, io::kPageBytes) + 2 * kPaddedBytesMax);
  if (!room) return room.error();
  std::unique_ptr<RdmaQueue> queue(new RdmaQueue(sizes, std::move(*room)));
  if (auto made = queue->make_queues(place, sizes, vector); !made) return made.error();
  if (auto made = queue->make_queue_pair(place, sizes); !made) return made.error();
  queue->fill_requests(place);
  for (std::uint32_t index = 0; index < sizes.receives; ++index) {
    if (auto posted = queue->repost(index); !posted) return posted.error();
  }
  return queue;
}

io::Result<void> RdmaQueue::make_queues(const QueuePairPlace& place, const RdmaQueueSizes& sizes,
                                        unsigned vector) {
  pd_.reset(ibv_alloc_pd(place.device));
  if (!pd_) return device_error("allocate a protection domain of", device_of(place));
  channel_.reset(ibv_create_comp_channel(place.device));
  if (!channel_) return device_error("create a completion channel of", device_of(place));
  if (auto set = set_up_descriptor(channel_->fd); !set) return set.error();
  const int completions = static_cast<int>(requests_out(sizes) + sizes.receives);
  const auto vectors = static_cast<unsigned>(std::max(place.device->num_comp_vectors, 1));
  cq_.reset(
      ibv_create_cq(place.device, completions, nullptr, channel_.get(), static_cast<int>(vector % vectors)));
  if (!cq_) return device_error("create a completion queue of", device_of(place));
  room_mr_.reset(ibv_reg_mr(pd_.get(), room_.all().data(), room_.all().size(), IBV_ACCESS_LOCAL_WRITE));
  if (!room_mr_) return device_error("register memory with", device_of(place));
  return {};
}

// No verb tells how much a device can send inline; it refuses a queue pair that asks for more. bnxt_re has 96
// bytes and irdma 101, which is enough for a frame that is not sealed.
io::Result<void> RdmaQueue::make_queue_pair(const QueuePairPlace& place, const RdmaQueueSizes& sizes) {
  constexpr std::array<std::size_t, 3> kInlineBytes = {kMessageBytesMax, kFrameBytes, 0};
  for (const std::size_t inline_bytes : kInlineBytes) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = cq_.get();
    wanted.recv_cq = cq_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = requests_out(sizes);
    wanted.cap.max_recv_wr = sizes.receives;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = static_cast<std::uint32_t>(inline_bytes);
    qp_ = net::make_queue_pair(place, *pd_, wanted);
    if (!qp_) continue;
    inline_bytes_ = wanted.cap.max_inline_data;
    return {};
  }
  return device_error("create a queue pair of", device_of(place));
}

// Soft-iWARP sends a large write that is not signalled out of the memory itself, and has it in TCP's hands
// when the message behind it completes (Linux 6.1, siw_qp_tx.c). One that is signalled is copied.
void RdmaQueue::fill_requests(const QueuePairPlace& place) {
  const bool signals_writes = place.device->device->transport_type == IBV_TRANSPORT_IWARP;
  for (std::uint32_t index = 0; index < messages_max_; ++index) {
    Send& send = sends_[index];
    send.message = {reinterpret_cast<std::uint64_t>(message_room(index).data()), 0, room_mr_->lkey};
    send.send.wr_id = number(Kind::sent, index);
    send.send.sg_list = &send.message;
    send.send.num_sge = 1;
    send.send.opcode = IBV_WR_SEND;
    send.write.wr_id = number(Kind::written, index);
    send.write.next = &send.send;
    send.write.sg_list = &send.payload;
    send.write.num_sge = 1;
    send.write.opcode = IBV_WR_RDMA_WRITE;
    send.write.send_flags = signals_writes ? IBV_SEND_SIGNALED : 0;
  }
  for (std::uint32_t index = 0; index < receives_.size(); ++index) {
    Receive& receive = receives_[index];
    receive.room = {reinterpret_cast<std::uint64_t>(receive_room(index).data()), kMessageBytesMax,
                    room_mr_->lkey};
    receive.receive.wr_id = number(Kind::received, index);
    receive.receive.sg_list = &receive.room;
    receive.receive.num_sge = 1;
  }
  receives_.front().room.length = kPaddedBytesMax;  // for the first time that it is posted
  probe_.wr_id = number(Kind::probed, 0);
  probe_.opcode = IBV_WR_RDMA_WRITE;
  probe_.send_flags = IBV_SEND_SIGNALED;
}

std::span<std::byte> RdmaQueue::message_room(std::uint32_t index) const {
  return room_.all().subspan(index * kMessageBytesMax, kMessageBytesMax);
}

// The rooms for what is padded lie at the end: one to send from, one to receive the first message in.
std::span<std::byte> RdmaQueue::receive_room(std::uint32_t index) const {
  if (index == 0) return room_.all().last(kPaddedBytesMax);
  return message_room(messages_max_ + index);
}

std::span<std::byte> RdmaQueue::padded_room() const {
  return room_.all().last(2 * kPaddedBytesMax).first(kPaddedBytesMax);
}

std::uint32_t RdmaQueue::prepare(std::span<const std::byte> message) {
  assert(!free_messages_.empty() && message.size() <= kMessageBytesMax);
  const std::uint32_t index = free_messages_.back();
  if (!message.empty()) std::memcpy(message_room(index).data(), message.data(), message.size());
  sends_[index].message.length = static_cast<std::uint32_t>(message.size());
  const unsigned inline_flag = IBV_SEND_INLINE;
  sends_[index].send.send_flags = IBV_SEND_SIGNALED | (message.size() <= inline_bytes_ ? inline_flag : 0);
  return index;
}

// If a write was taken but its message was not, the write ends only with destroy_queue_pair().
io::Result<std::uint32_t> RdmaQueue::post(ibv_send_wr& first, std::uint32_t index) {
  ibv_send_wr* refused = nullptr;
  if (!qp_) return post_error(ENOTCONN);
  if (const int code = ibv_post_send(qp_.get(), &first, &refused)) return post_error(code);
  free_messages_.pop_back();
  return index;
}

io::Result<std::uint32_t> RdmaQueue::send(std::span<const std::byte> message) {
  const std::uint32_t index = prepare(message);
  return post(sends_[index].send, index);
}

// Its work request is made here: it is sent once, and is too long to be inline.
io::Result<std::uint32_t> RdmaQueue::send_padded(std::span<const std::byte> message, std::size_t bytes) {
  assert(message.size() <= bytes && bytes <= kPaddedBytesMax);
  const std::uint32_t index = prepare(message);
  const std::span<std::byte> room = padded_room();
  std::ranges::fill(std::ranges::copy(message, room.begin()).out, room.end(), std::byte{0});
  ibv_sge piece{reinterpret_cast<std::uint64_t>(room.data()), static_cast<std::uint32_t>(bytes),
                room_mr_->lkey};
  ibv_send_wr request = sends_[index].send;
  request.sg_list = &piece;
  request.send_flags = IBV_SEND_SIGNALED;
  return post(request, index);
}

io::Result<std::uint32_t> RdmaQueue::write_and_send(const Write& write, std::span<const std::byte> message) {
  const std::uint32_t index = prepare(message);
  Send& send = sends_[index];
  send.payload = {reinterpret_cast<std::uint64_t>(write.payload.data()),
                  static_cast<std::uint32_t>(write.payload.size()), write.lkey};
  send.write.wr.rdma.remote_addr = write.address;
  send.write.wr.rdma.rkey = write.rkey;
  return post(send.write, index);
}

// A write of no bytes needs no address and no key (InfiniBand Architecture Specification, C9-88).
io::Result<void> RdmaQueue::probe() {
  assert(!probing_);
  ibv_send_wr* refused = nullptr;
  if (!qp_) return post_error(ENOTCONN);
  if (const int code = ibv_post_send(qp_.get(), &probe_, &refused)) return post_error(code);
  probing_ = true;
  return {};
}

io::Result<void> RdmaQueue::repost(std::uint32_t index) {
  ibv_recv_wr* refused = nullptr;
  if (!qp_) return post_error(ENOTCONN);
  if (const int code = ibv_post_recv(qp_.get(), &receives_[index].receive, &refused)) return post_error(code);
  ++receives_posted_;
  return {};
}

std::span<const RdmaQueue::Completion> RdmaQueue::poll(std::span<Completion> room) {
  std::array<ibv_wc, kPollAtOnce> done;
  const std::size_t most = std::min(done.size(), room.size());
  const int count = broken_ ? 0 : ibv_poll_cq(cq_.get(), static_cast<int>(most), done.data());
  broken_ = broken_ || count < 0;
  for (int i = 0; i < count; ++i) room[i] = take(done[i]);
  return room.first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

// In a failed completion only wr_id and status are defined (ibv_poll_cq(3)).
RdmaQueue::Completion RdmaQueue::take(const ibv_wc& completion) {
  const auto kind = static_cast<Kind>(completion.wr_id >> kKindShift);
  const auto index = static_cast<std::uint32_t>(completion.wr_id);
  if (kind == Kind::received) return take_receive(index, completion);
  if (kind == Kind::sent) free_messages_.push_back(index);
  if (kind == Kind::probed) probing_ = false;
  return {kind, index, completion.status, 0};
}

// The peer's write with immediate data takes a receive, too, and tells the length of the write
// (ibv_poll_cq(3)). It is no message, whatever lies in the receive's room.
RdmaQueue::Completion RdmaQueue::take_receive(std::uint32_t index, const ibv_wc& completion) {
  --receives_posted_;
  const std::uint32_t most = std::exchange(receives_[index].room.length, kMessageBytesMax);
  if (completion.status != IBV_WC_SUCCESS) return {Kind::received, index, completion.status, 0};
  if (completion.opcode != IBV_WC_RECV || completion.byte_len > most)
    return {Kind::received, index, IBV_WC_LOC_LEN_ERR, 0};
  return {Kind::received, index, IBV_WC_SUCCESS, completion.byte_len};
}

std::optional<RdmaQueue::Completion> RdmaQueue::next() {
  std::array<Completion, 1> one;
  if (!poll(one).empty()) return one[0];
  if (!broken_ && !armed_ && arm() && !poll(one).empty()) return one[0];
  if (broken_) return Completion{Kind::received, 0, IBV_WC_GENERAL_ERR, 0};
  return std::nullopt;
}

std::span<const std::byte> RdmaQueue::received(const Completion& completion) const {
  return receive_room(completion.index).first(completion.bytes);
}

io::Result<void> RdmaQueue::arm() {
  const int code = ibv_req_notify_cq(cq_.get(), 0);
  if (code != 0) return io::errno_error("arm", "RDMA completion queue", code, io::ErrorKind::connection);
  armed_ = true;
  return {};
}

bool RdmaQueue::take_bell() {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &cq, &context) != 0) return false;
  ibv_ack_cq_events(cq, 1);
  armed_ = false;
  return true;
}

void RdmaQueue::flush() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  if (qp_) ibv_modify_qp(qp_.get(), &attributes, IBV_QP_STATE);
}

void RdmaQueue::destroy_queue_pair() {
  qp_.reset();
}

}  // namespace rdcp::net
