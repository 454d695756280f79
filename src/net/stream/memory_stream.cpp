#include "net/stream/memory_stream.h"

#include <poll.h>

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "io/descriptors.h"
#include "io/task.h"

namespace rdcp::net {
namespace {

// Either thread rings it to tell one side that there is something to look at. That side polls it through its
// ring. Ringing does nothing if there is an error().
class Bell {
 public:
  Bell() {
    auto event = io::Event::create();
    if (event) event_ = std::move(*event);
    if (!event) error_ = std::move(event).error();
  }
  const std::optional<io::Error>& error() const { return error_; }
  int fd() const { return event_.fd(); }
  void ring() { event_.signal(); }
  void silence() { event_.drain(); }

 private:
  io::Event event_;
  std::optional<io::Error> error_;
};

}  // namespace

// A payload belongs to its source until the target has taken it out of the queue, then to the target until
// that has put its SendAwaiter among the copied ones. So a source that is shut may take back what is still in
// the queue, and must wait only for one copy, also if its ring is broken and cannot report it.
class MemoryChannel {
 public:
  struct ToTarget {
    Frame frame;
    std::span<const std::byte> payload;
    Stream::SendAwaiter* awaiter = nullptr;
  };
  struct ToSource {
    std::vector<Stream::SendAwaiter*> copied;
    std::vector<Frame> credits;
    bool closed = false;
  };

  Bell& source_bell() { return source_bell_; }
  Bell& target_bell() { return target_bell_; }
  MemoryTap& tap() { return tap_; }

  void put(const ToTarget& item) {
    {
      const std::lock_guard lock(mutex_);
      to_target_.push_back(item);
    }
    target_bell_.ring();
  }

  // Returns the next frame for the target, or nothing if there is none; `closed` then says that no more can
  // come.
  std::optional<ToTarget> take(bool& closed) {
    const std::lock_guard lock(mutex_);
    closed = source_closed_;
    if (to_target_.empty()) return std::nullopt;
    const ToTarget first = to_target_.front();
    to_target_.erase(to_target_.begin());
    copying_ = true;
    return first;
  }

  // Returns the source's own unsent frames, when it is shut.
  void take_back(std::vector<Stream::SendAwaiter*>& into) {
    const std::lock_guard lock(mutex_);
    for (const ToTarget& item : to_target_) into.push_back(item.awaiter);
    to_target_.clear();
  }

  void put_copied(Stream::SendAwaiter& awaiter) {
    {
      const std::lock_guard lock(mutex_);
      to_source_.copied.push_back(&awaiter);
      copying_ = false;
    }
    copied_.notify_all();
    source_bell_.ring();
  }

  void put_credit(const Frame& frame) {
    {
      const std::lock_guard lock(mutex_);
      to_source_.credits.push_back(frame);
    }
    source_bell_.ring();
  }

  // Exchanges what has gathered for the source with `news`, whose vectors keep their memory.
  void take_news(ToSource& news) {
    news.copied.clear();
    news.credits.clear();
    const std::lock_guard lock(mutex_);
    std::swap(news.copied, to_source_.copied);
    std::swap(news.credits, to_source_.credits);
    news.closed = target_closed_;
  }

  // Both bells are rung, because the side that closes may have to wake up, too.
  void close_source() { close(source_closed_); }
  void close_target() { close(target_closed_); }
  // To be called when the source's payloads and awaiters go away. When this returns, the target uses none of
  // them any more.
  void leave_source() {
    {
      std::unique_lock lock(mutex_);
      to_target_.clear();
      copied_.wait(lock, [this] { return !copying_; });
    }
    close_source();
  }

 private:
  void close(bool& closed) {
    {
      const std::lock_guard lock(mutex_);
      closed = true;
    }
    source_bell_.ring();
    target_bell_.ring();
  }

  Bell source_bell_;
  Bell target_bell_;
  MemoryTap tap_;
  std::mutex mutex_;
  std::vector<ToTarget> to_target_;
  bool copying_ = false;  // the target copies what it took last
  std::condition_variable copied_;
  ToSource to_source_;
  bool source_closed_ = false;
  bool target_closed_ = false;
};

namespace {

constexpr std::string_view kPeerClosed = "closed the connection before the end";

class MemorySource : public Stream {
 public:
  MemorySource(io::Ring& ring, std::shared_ptr<MemoryChannel> channel, const StreamShape& shape)
      : Stream(ring, Side::source, shape, "in this process"), channel_(std::move(channel)) {}
  ~MemorySource() override { channel_->leave_source(); }

  void start() override {
    pump_ = pump();
    pump_.start();
  }
  bool idle() const override { return pump_.done(); }
  std::string description() const override { return "memory"; }

 private:
  void post_send(SendAwaiter& awaiter) override {
    ++sending_;
    channel_->put({awaiter.frame(), awaiter.payload(), &awaiter});
  }
  void post_credit(const Frame&) override { assert(false); }
  void close_connection() override { channel_->close_source(); }

  io::Task pump();
  void take_news();
  void take_back_unsent();

  std::shared_ptr<MemoryChannel> channel_;
  MemoryChannel::ToSource news_;
  std::size_t sending_ = 0;
  io::Task pump_;
};

io::Task MemorySource::pump() {
  if (channel_->source_bell().error()) shut(*channel_->source_bell().error());
  while (true) {
    channel_->source_bell().silence();
    take_news();
    if (shut_down()) take_back_unsent();
    if ((shut_down() || over()) && sending_ == 0) break;
    const io::IoResult polled = co_await ring().poll(channel_->source_bell().fd(), POLLIN);
    if (polled.error != 0) shut(io::errno_error("poll", "eventfd", polled.error));
  }
  channel_->close_source();
}

void MemorySource::take_news() {
  channel_->take_news(news_);
  sending_ -= news_.copied.size();
  for (SendAwaiter* awaiter : news_.copied) complete_send(*awaiter);
  for (const Frame& frame : news_.credits) {
    if (!accept(frame)) return;
    deliver(frame);
  }
  if (news_.closed && !over()) shut(peer_error(io::ErrorKind::connection, kPeerClosed));
}

void MemorySource::take_back_unsent() {
  news_.copied.clear();
  channel_->take_back(news_.copied);
  sending_ -= news_.copied.size();
  for (SendAwaiter* awaiter : news_.copied) complete_send(*awaiter);
}

class MemoryTarget : public Stream {
 public:
  MemoryTarget(io::Ring& ring, std::shared_ptr<MemoryChannel> channel, const StreamShape& shape,
               io::Arena& arena)
      : Stream(ring, Side::target, shape, "in this process"), channel_(std::move(channel)), arena_(arena) {
    assert(shape.target_slots <= arena.slot_count() && shape.slot_bytes <= arena.slot_bytes());
  }
  ~MemoryTarget() override { channel_->close_target(); }

  void start() override {
    grant_all();
    pump_ = pump();
    pump_.start();
  }
  bool idle() const override { return pump_.done(); }
  std::string description() const override { return "memory"; }

 private:
  void post_send(SendAwaiter&) override { assert(false); }
  void post_credit(const Frame& credit) override;
  void close_connection() override { channel_->close_target(); }

  io::Task pump();
  // Returns false if the channel has nothing for us now.
  bool take_one();
  void take(const MemoryChannel::ToTarget& item);
  void take_tapped(const MemoryChannel::ToTarget& item);
  void place(const Frame& frame, std::span<const std::byte> payload);

  std::shared_ptr<MemoryChannel> channel_;
  io::Arena& arena_;
  io::Task pump_;
};

void MemoryTarget::post_credit(const Frame& credit) {
  channel_->put_credit(credit);
  if (over()) channel_->target_bell().ring();  // the pump waits, but has nothing left to wait for
}

io::Task MemoryTarget::pump() {
  if (channel_->target_bell().error()) shut(*channel_->target_bell().error());
  while (!shut_down() && !over()) {
    if (take_one()) {
      // The chunk is in the cache now, so its receiver should look at it before the next one arrives.
      co_await Yield(ring());
      continue;
    }
    if (shut_down() || over()) break;
    const io::IoResult polled = co_await ring().poll(channel_->target_bell().fd(), POLLIN);
    if (polled.error != 0) shut(io::errno_error("poll", "eventfd", polled.error));
    channel_->target_bell().silence();
  }
  channel_->close_target();
}

bool MemoryTarget::take_one() {
  bool closed = false;
  const std::optional<MemoryChannel::ToTarget> item = channel_->take(closed);
  if (!item) {
    if (closed && !ended()) shut(peer_error(io::ErrorKind::connection, kPeerClosed));
    return false;
  }
  if (channel_->tap()) {
    take_tapped(*item);
  } else {
    place(item->frame, item->payload);
  }
  channel_->put_copied(*item->awaiter);
  return true;
}

void MemoryTarget::take_tapped(const MemoryChannel::ToTarget& item) {
  Frame frame = item.frame;
  std::vector<std::byte> payload(item.payload.begin(), item.payload.end());
  if (channel_->tap()(frame, payload)) {
    place(frame, payload);
  } else {
    shut(peer_error(io::ErrorKind::connection, kPeerClosed));
  }
}

void MemoryTarget::place(const Frame& frame, std::span<const std::byte> payload) {
  if (!accept(frame)) return;
  if (has_payload(frame.kind)) {
    // std::ranges::copy would be ten times slower: g++ 12 compiles it to a loop over single bytes here.
    std::memcpy(arena_.slot(frame.slot).data(), payload.data(),
                std::min<std::size_t>(payload.size(), frame.length));
  }
  deliver(frame);
}

}  // namespace

std::shared_ptr<MemoryChannel> make_memory_channel() {
  return std::make_shared<MemoryChannel>();
}

std::unique_ptr<Stream> make_memory_source(io::Ring& ring, std::shared_ptr<MemoryChannel> channel,
                                           const StreamShape& shape) {
  return std::make_unique<MemorySource>(ring, std::move(channel), shape);
}

std::unique_ptr<Stream> make_memory_target(io::Ring& ring, std::shared_ptr<MemoryChannel> channel,
                                           const StreamShape& shape, io::Arena& arena) {
  return std::make_unique<MemoryTarget>(ring, std::move(channel), shape, arena);
}

void set_tap(MemoryChannel& channel, MemoryTap tap) {
  channel.tap() = std::move(tap);
}

}  // namespace rdcp::net
