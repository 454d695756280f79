// The far end of a stream, played by a script within the worker's own thread: what it says next is there at
// once. Over memory streams two threads would wait for each other at each frame, and that takes most of a
// run.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "net/stream/stream.h"
#include "tests/fuzz/sessions/frame_maker.h"

namespace rdcp::fuzz {

// A target's stream, whose source sends these frames: as many at once as there are slots, but one that waits
// only when all before it are answered. Then the source ends the stream, or is gone.
// in_order: the target writes bytes in their order. A source that leaves a gap has nothing to wait for, as
// all that it has sent waits for what it has not; it is gone then, too.
class SourceScript : public net::Stream {
 public:
  SourceScript(io::Ring& ring, const net::StreamShape& shape, io::Arena& arena, std::deque<Sent> frames,
               bool ends, bool in_order = false)
      : Stream(ring, Side::target, shape, "a script"),
        arena_(arena),
        frames_(std::move(frames)),
        ends_(ends),
        in_order_(in_order) {}

  void start() override {
    grant_all();
    started_ = true;
    go_on();
  }
  bool idle() const override { return shut_down() || over(); }
  std::string description() const override { return "a script"; }

 private:
  void post_send(SendAwaiter&) override { require(false); }
  void close_connection() override {}
  void post_credit(const net::Frame& credit) override {
    // A frame that a target answers with what a source does not understand is a fault of ours.
    if (credit.status != net::AckStatus::granted) {
      const net::Frame sent = under_way_[credit.slot];
      require(net::may_answer(sent.kind, sent.flags, credit));
      under_way_.erase(credit.slot);
      const bool written = sent.kind == net::FrameKind::data && credit.status == net::AckStatus::done;
      if (written) written_[sent.file_id] += sent.length;
    }
    free_.push_back(credit.slot);
    if (started_) go_on();
  }

  void go_on() {
    while (!shut_down() && !frames_.empty() && !free_.empty() &&
           !(frames_.front().waits && !under_way_.empty())) {
      const Sent sent = std::move(frames_.front());
      frames_.pop_front();
      send(sent);
    }
    const bool is_gone = !under_way_.empty() && std::ranges::all_of(under_way_, [this](const auto& sent) {
      return waits_for_more(sent.second);
    });
    if (shut_down() || (!is_gone && (!frames_.empty() || !under_way_.empty())) || std::exchange(over_, true))
      return;
    if (!ends_ || is_gone)
      return shut(io::plain_error(io::ErrorKind::connection, "the source", "", "is gone"));
    require(accept(net::Frame{}).ok());
    deliver(net::Frame{});
  }

  bool waits_for_more(const net::Frame& frame) {
    return in_order_ && frame.kind == net::FrameKind::data && frame.offset > written_[frame.file_id];
  }

  void send(const Sent& sent) {
    net::Frame frame = sent.frame;
    frame.slot = free_.front();
    free_.pop_front();
    under_way_[frame.slot] = frame;
    if (!accept(frame)) return;
    std::ranges::copy(sent.payload, arena_.slot(frame.slot).begin());
    deliver(frame);
  }

  io::Arena& arena_;
  std::deque<Sent> frames_;
  std::deque<std::uint32_t> free_;
  std::map<std::uint32_t, net::Frame> under_way_;   // not answered, by slot
  std::map<std::uint64_t, std::uint64_t> written_;  // bytes of each file
  const bool ends_;
  const bool in_order_;
  bool started_ = false;
  bool over_ = false;
};

// A source's stream, whose target answers each frame with what the script says.
class TargetScript : public net::Stream {
 public:
  // Takes a frame and its payload, and returns the credit for it. Nothing: the target is gone.
  using Answer = std::function<std::optional<net::Frame>(const net::Frame&, Bytes payload)>;

  TargetScript(io::Ring& ring, const net::StreamShape& shape, Answer answer)
      : Stream(ring, Side::source, shape, "a script"), answer_(std::move(answer)) {}

  void start() override {
    net::Frame credit;
    credit.kind = net::FrameKind::credit;
    for (; credit.slot < target_slots(); ++credit.slot) give(credit);
  }
  bool idle() const override { return shut_down() || over(); }
  std::string description() const override { return "a script"; }

 private:
  void post_credit(const net::Frame&) override { require(false); }
  void close_connection() override {}
  void post_send(SendAwaiter& awaiter) override {
    const net::Frame frame = awaiter.frame();
    const bool is_answered = net::takes_slot(frame.kind);
    const auto credit = is_answered ? answer_(frame, awaiter.payload()) : std::nullopt;
    complete_send(awaiter);
    if (credit) return give(*credit);
    if (is_answered) shut(io::plain_error(io::ErrorKind::connection, "the target", "", "is gone"));
  }

  void give(const net::Frame& credit) {
    if (accept(credit)) deliver(credit);
  }

  const Answer answer_;
};

}  // namespace rdcp::fuzz
