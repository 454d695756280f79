#include "net/rdma/rdma_stream.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/bytes.h"

namespace rdcp::net {
namespace {

using io::Clock;

// Flushing takes microseconds, but a device that is gone may never do it.
constexpr std::chrono::seconds kFlushMax{2};
// A connection that is silent for this long is probed. One that beats does so as often.
constexpr std::chrono::seconds kProbeAfter{5};
// A peer that beats has this long to begin, because its worker may start later than the one here.
constexpr std::chrono::seconds kBeginMax = 4 * kUnreachableMax;
// A port that went down has this long to come back, because it may do so before packets are given up.
constexpr std::chrono::seconds kPortDownMax{5};

constexpr std::string_view kRegionMagic = "RDMR";
constexpr std::size_t kAddressAt = 8;
constexpr std::size_t kSlotBytesAt = 16;
constexpr std::size_t kSlotsAt = 24;
constexpr std::size_t kRkeyAt = 28;

std::string host_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const bool bracketed = address.starts_with('[');
  return bracketed ? address.substr(1, colon - 2) : address.substr(0, colon);
}

std::string description_of(bool source, RdmaConnection& connection) {
  const RdmaPort& port = connection.port();
  const bool by_hand = connection.by_hand();
  const std::string here = by_hand ? connection.local_text() : host_of(connection.local_text());
  const std::string there = by_hand ? connection.peer_text() : host_of(connection.peer_text());
  return fmt::format("rdma {} ({}, {:g} Gb/s, GID {}{}) {} -> {}", port.name(), describe(port.link),
                     port.megabits / 1000.0, port.gid, by_hand ? ", without rdma_cm" : "",
                     source ? here : there, source ? there : here);
}

}  // namespace

std::array<std::byte, kRegionBytes> encode(const SlotRegion& region) {
  std::array<std::byte, kRegionBytes> message{};
  std::ranges::transform(kRegionMagic, message.begin(), [](char c) { return static_cast<std::byte>(c); });
  io::store_le(message.data() + kAddressAt, region.address);
  io::store_le(message.data() + kSlotBytesAt, region.slot_bytes);
  io::store_le(message.data() + kSlotsAt, region.slots);
  io::store_le(message.data() + kRkeyAt, region.rkey);
  return message;
}

io::Result<SlotRegion> decode_region(std::span<const std::byte> message) {
  const auto same = [](std::byte b, char c) { return b == static_cast<std::byte>(c); };
  if (message.size() != kRegionBytes ||
      !std::ranges::equal(message.first(kRegionMagic.size()), kRegionMagic, same) ||
      io::load_le<std::uint32_t>(message.data() + kRegionMagic.size()) != 0) {
    return io::plain_error(io::ErrorKind::protocol, "decode", "region", "not a region");
  }
  return SlotRegion{io::load_le<std::uint64_t>(message.data() + kAddressAt),
                    io::load_le<std::uint64_t>(message.data() + kSlotBytesAt),
                    io::load_le<std::uint32_t>(message.data() + kSlotsAt),
                    io::load_le<std::uint32_t>(message.data() + kRkeyAt)};
}

std::shared_ptr<io::Arena> arena_between(const RecordLayer& record_layer, std::size_t slots,
                                         std::size_t slot_bytes) {
  if (!record_layer.seals()) return nullptr;
  auto made = io::Arena::create(slots, slot_bytes);
  return made ? std::make_shared<io::Arena>(std::move(*made)) : nullptr;
}

RdmaStream::RdmaStream(io::Ring& ring, Side side, Parts parts, io::Arena& arena)
    : Stream(ring, side, parts.shape, parts.connection->peer_text()),
      shape_(parts.shape),
      connection_(std::move(parts.connection)),
      peer_(connection_->peer_text()),
      description_(description_of(side == Side::source, *connection_)),
      device_(*connection_->place().device, connection_->place().port),
      record_layer_(std::move(parts.record_layer)),
      arena_(arena),
      between_(std::move(parts.between)) {
  if (auto made = set_up_waiting(); !made) {
    stuck_ = true;
    RdmaStream::shut(made.error());
  }
  if (auto registered = register_memory(side); !registered) RdmaStream::shut(registered.error());
}

// The queue pair is destroyed before the memory that it may write into.
RdmaStream::~RdmaStream() {
  queue().destroy_queue_pair();
}

io::Result<void> RdmaStream::set_up_waiting() {
  timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  waiting_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!timer_ || !waiting_) return io::errno_error("open", "RDMA stream", errno, io::ErrorKind::connection);
  for (const int fd : {timer_.get(), queue().fd(), connection_->events_fd(), device_.fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (fd >= 0 && ::epoll_ctl(waiting_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return io::errno_error("wait for", "RDMA stream", errno, io::ErrorKind::connection);
    }
  }
  return {};
}

// The source's memory is registered for local writing, too. If a page that nobody has touched were pinned
// only for reading, it would be the shared page of zeros, and the device would send that for ever.
io::Result<void> RdmaStream::register_memory(Side side) {
  const unsigned remote = IBV_ACCESS_REMOTE_WRITE;
  const unsigned access = kPayloadAccess | (side == Side::target ? remote : 0);
  const std::span<std::byte> all = registered().all();
  memory_.reset(ibv_reg_mr(&queue().pd(), all.data(), all.size(), access));
  if (memory_) return {};
  const std::string operation = fmt::format("register {} MiB with", (all.size() + (1 << 20) - 1) >> 20);
  return device_error(operation, connection_->port().device);
}

void RdmaStream::start() {
  if (!shut_down()) begin();
  pump_ = pump();
  pump_.start();
}

std::optional<double> RdmaStream::rate_max() const {
  constexpr double kBytesInMegabit = 125'000;
  const auto of_work = record_layer_.rate_max();
  const std::uint32_t megabits = port_of(*connection_).megabits;
  if (megabits == 0) return of_work;  // the device does not say
  const double of_link = kBytesInMegabit * megabits;
  return std::min(of_link, of_work.value_or(of_link));
}

std::string RdmaStream::description() const {
  return description_;
}

io::Task RdmaStream::pump() {
  while (!finished()) {
    if (take_completions()) {
      // A chunk that has just arrived is in the cache, so its receiver should look at it before the next
      // ones.
      co_await Yield(ring());
      continue;
    }
    if (!queue().armed()) {
      if (auto armed = queue().arm(); !armed) {
        stuck_ = true;
        shut(armed.error());
      }
      continue;  // completions from before arming do not ring the bell
    }
    const io::IoResult polled = co_await ring().poll(waiting_.get(), POLLIN);
    if (polled.error != 0) {
      stuck_ = true;
      shut(io::errno_error("poll", "RDMA stream", polled.error, io::ErrorKind::connection));
    }
    take_events();
  }
  settle();
}

// A request that is posted after an iWARP connection has ended may never complete (with Soft-iWARP,
// Linux 6.1, siw_post_send()). Nothing arrives any more after a receive that failed, and the queue pair is
// destroyed next.
bool RdmaStream::finished() const {
  const bool flushed = connection_->queue().drained() || (connection_->is_iwarp() && receive_failed_);
  return closing_ && (stuck_ || flushed || Clock::now() >= close_until_);
}

void RdmaStream::settle() {
  queue().destroy_queue_pair();
  if (!over()) shut(peer_error(io::ErrorKind::connection, "closed the connection before the end"));
  all_sent();
}

void RdmaStream::close_connection() {
  if (std::exchange(closing_, true)) return;
  close_until_ = Clock::now() + kFlushMax;
  itimerspec timeout{};
  timeout.it_value.tv_sec = kFlushMax.count();
  if (::timerfd_settime(timer_.get(), 0, &timeout, nullptr) != 0) stuck_ = true;
  connection_->disconnect();
}

void RdmaStream::fail(const io::Error& why) {
  if (over()) {
    close_connection();
  } else {
    shut(why);
  }
}

bool RdmaStream::take_completions() {
  std::array<RdmaQueue::Completion, kTakenAtOnce> room;
  const auto completions = queue().poll(room);
  if (queue().broken()) return give_up_queue();
  for (const RdmaQueue::Completion& completion : completions) {
    if (shows_life(completion)) note_life();
    take(completion);
  }
  if (over() && queue().sends_under_way() == 0) close_connection();
  // One that was made by hand has said farewell, which the peer has now.
  if (closing_ && connection_->by_hand() && queue().sends_under_way() == 0) queue().flush();
  return !completions.empty();
}

bool RdmaStream::shows_life(const RdmaQueue::Completion& completion) const {
  return !connection_->beats() || completion.kind == RdmaQueue::Kind::received;
}

void RdmaStream::note_life() {
  last_sign_ = Clock::now();
  heard_ = true;
  beats_in_silence_ = 0;
}

// Whatever is under way ends only with the queue pair. Returns true because the pump must look at the end.
bool RdmaStream::give_up_queue() {
  stuck_ = true;
  fail(io::plain_error(io::ErrorKind::connection, "poll a completion queue of",
                       "RDMA device " + connection_->port().device,
                       "the device failed (the kernel's log may say why)"));
  return true;
}

void RdmaStream::take(const RdmaQueue::Completion& completion) {
  const bool good = completion.status == IBV_WC_SUCCESS;
  if (!good && completion.kind == RdmaQueue::Kind::received) receive_failed_ = true;
  if (!good) take_failure(completion.status);
  if (completion.kind == RdmaQueue::Kind::sent && completion.index == beat_) beat_.reset();
  if (completion.kind == RdmaQueue::Kind::sent && (good || shut_down())) sent(completion.index);
  if (connection_->is_farewell(completion)) return take_farewell();
  if (completion.kind == RdmaQueue::Kind::received && good && !shut_down()) take_received(completion);
}

// Frames that arrived before it have been taken; settle() judges the end.
void RdmaStream::take_farewell() {
  connection_->take_farewell();
  close_connection();
}

// The receive is posted again before the message is handled, because that may call for an answer.
void RdmaStream::take_received(const RdmaQueue::Completion& completion) {
  std::array<std::byte, kPaddedBytesMax> copy;  // no receive has more room
  const std::span<const std::byte> message = queue().received(completion);
  if (!message.empty()) std::memcpy(copy.data(), message.data(), message.size());
  if (!closing_) {
    if (auto posted = queue().repost(completion.index); !posted) return take_refusal(posted.error());
  }
  if (connection_->is_beat(completion)) return;
  take_message(std::span(copy).first(message.size()));
}

// The first failure says why; all that follow are flushed. If the first one is a flush already, something
// else put the queue pair into error: a disconnect, which CM reports (with iWARP perhaps only later), or a
// request of the peer that our device refused. With iWARP a request may also fail because the peer has closed
// the connection.
void RdmaStream::take_failure(ibv_wc_status status) {
  if (closing_) return;
  take_device_events();
  if (closing_) return;
  if (device_.port_down()) return fail(*device_.port_down());
  const bool iwarp_closed = connection_->is_iwarp() && status == IBV_WC_LOC_QP_OP_ERR;
  if (status != IBV_WC_WR_FLUSH_ERR && !iwarp_closed) return fail(completion_error(status, peer_));
  take_cm_events();
  if (closing_) return;
  fail(connection_->is_iwarp()
           ? cm_error(RDMA_CM_EVENT_DISCONNECTED, 0, peer_)
           : peer_error(io::ErrorKind::connection,
                        "the queue pair failed (the peer asked for what it may not, or the device failed)"));
}

// An iWARP device takes nothing any more as soon as the peer has closed the connection. What came before that
// is still in the completion queue, and settle() judges the end once it is taken.
void RdmaStream::take_refusal(const io::Error& why) {
  if (connection_->is_iwarp() && !queue().broken()) {
    close_connection();
  } else {
    fail(why);
  }
}

std::optional<Frame> RdmaStream::frame_of(std::span<const std::byte> message) {
  const auto frame = record_layer_.open_frame(message);
  if (!frame) refuse(frame.error());
  if (!frame || !accept(*frame)) return std::nullopt;
  return *frame;
}

void RdmaStream::take_events() {
  // Most events are completions, so the others are looked at when there are none.
  if (queue().take_bell()) return;
  std::uint64_t expirations;
  [[maybe_unused]] const auto taken = ::read(timer_.get(), &expirations, sizeof(expirations));
  take_cm_events();
  take_device_events();
}

void RdmaStream::take_cm_events() {
  while (const auto event = connection_->next_event()) {
    switch (event->type) {
      case RDMA_CM_EVENT_ESTABLISHED:
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        break;
      case RDMA_CM_EVENT_DISCONNECTED:
        // Frames that arrived before this are still in the completion queue; settle() judges the end once
        // they are taken.
        close_connection();
        break;
      default:
        fail(cm_error(event->type, event->status, peer_));
    }
  }
}

void RdmaStream::take_device_events() {
  device_.take_events();
  if (device_.failure() && !closing_) fail(*device_.failure());
}

void RdmaStream::check_connection(Clock::time_point now) {
  if (closing_) return;
  take_cm_events();
  take_device_events();
  if (device_.port_down() && now - device_.down_since() > kPortDownMax) fail(*device_.port_down());
  if (closing_) return;
  connection_->beats() ? beat(now) : probe(now);
}

// The device itself reports a peer that acknowledges nothing, but only if something was sent. So a probe is
// sent when the peer is silent.
void RdmaStream::probe(Clock::time_point now) {
  if (now - last_sign_ < kProbeAfter) return;
  if (!queue().probing()) {
    probed_at_ = now;
    if (auto probed = queue().probe(); !probed) fail(probed.error());
  } else if (now - probed_at_ > kUnreachableMax - kProbeAfter && !take_completions()) {
    fail(completion_error(IBV_WC_RETRY_EXC_ERR, peer_));
  }
}

// Completions that nobody has taken yet may have a sign of life among them.
void RdmaStream::beat(Clock::time_point now) {
  const auto silent = now - last_sign_;
  if (silent > (heard_ ? kUnreachableMax : kBeginMax) && !take_completions()) {
    return fail(completion_error(IBV_WC_RETRY_EXC_ERR, peer_));
  }
  if (closing_ || beat_ || now - probed_at_ < kProbeAfter || !queue().can_send()) return;
  if (beats_in_silence_ == kBeatsMax) return;
  ++beats_in_silence_;
  probed_at_ = now;
  const auto sent = queue().send({});
  if (!sent) return take_refusal(sent.error());
  beat_ = *sent;
}

}  // namespace rdcp::net
