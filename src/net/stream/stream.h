// One ordered connection between two agents, as the tree layer sees it. Callers cannot tell the transports
// apart.
//
//   source:  slot = co_await stream.credit()       -> permission to use one of the target's slots
//            co_await stream.send(frame, payload)  -> the transport is done with the payload
//            co_await stream.acknowledged(slot)    -> the target is done with the chunk; the slot is ours to
//            credit again; what it answered to a question is in the Verdicts that were passed along
//   target:  frame = co_await stream.receive()     -> a chunk lies in slot frame.slot, an end, or an error
//            stream.release(slot, status)          -> gives the credit back
//
// The states of a slot:
//
//   source:  unknown --granted--> free --credit()--> credited --send()--> busy --credit frame--> answered
//                                  ^------------------------- acknowledged() ---------------------'
//   target:  granted --header arrives--> filling --payload arrives--> filled --release()--> granted
//
// How a stream ends:
//
// - In order: once every chunk is acknowledged, the source sends an end frame (which takes no slot). Its
//   receivers at the target get nothing from then on. Each side then closes its connection by itself, without
//   waiting for the other: the source when the end is handed to the transport and no chunk is unanswered, the
//   target when every slot is released and every credit is out. An end may also be sent while chunks are
//   still unanswered: both sides then stay until these are settled. Each side waits until idle(). No error is
//   left behind, and a peer that goes away from then on is not an error.
// - With an error: a connection closes or fails before that, a frame breaks the accounts, or shut() is
//   called. All that wait and all that come later get the first cause, and idle() holds soon after. The peer
//   is not told why; it sees a connection that closed too early.
//
// The base class keeps the accounts (which slots are granted, which are under way) and checks each frame
// against them; a transport moves frames and payloads. Frames arrive in the order in which they were sent.
// All of a stream runs on one thread, the worker's.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/arena.h"
#include "io/occupancy.h"
#include "io/ring.h"
#include "net/stream/frame.h"

namespace rdcp::net {

// The terms that the two ends of a stream have agreed on beforehand, over control.
struct StreamShape {
  std::uint32_t target_slots = 0;
  std::size_t slot_bytes = 0;
};

// How long the awaits of a stream have waited, in nanoseconds summed over coroutines. The "limited by" line
// shows it.
struct StreamTimes {
  std::uint64_t credit_ns = 0;   // source: waiting for a free slot at the target
  std::uint64_t send_ns = 0;     // source: from send() until the transport is done with the payload
  std::uint64_t receive_ns = 0;  // target: waiting for a chunk
};

struct StreamCounters {
  std::uint64_t frames = 0;  // from source to target
  std::uint64_t payload_bytes = 0;
  std::uint64_t wire_bytes = 0;  // of payloads, as they travelled
  StreamTimes times;
};

// A host that acknowledges nothing for this long is gone. One that is only slow still acknowledges.
inline constexpr std::chrono::seconds kUnreachableMax{25};

class Stream {
 public:
  class CreditAwaiter;
  class SendAwaiter;
  class AckAwaiter;
  class ReceiveAwaiter;

  virtual ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Begins to move frames. The target grants all its slots. Called once, on the worker's thread, before
  // anything else.
  virtual void start() = 0;
  // True when nothing of this stream is under way in the ring any more; a worker runs its ring until then,
  // and only then may the stream be destroyed.
  virtual bool idle() const = 0;
  // Returns "tcp 10.0.0.1:40000 -> 10.0.0.2:41000" or the like.
  virtual std::string description() const = 0;
  // True if all that it carries is encrypted.
  virtual bool sealed() const { return false; }
  // At the target: true if the source could still change a chunk that lies in its slot. Whatever is parsed is
  // copied first then.
  virtual bool peer_can_write() const { return false; }
  // True if a device holds the arena, or as much memory, locked, which counts against RLIMIT_MEMLOCK.
  virtual bool locks_arena() const { return false; }
  // At the target, before start(): where each chunk counts from its header's arrival to its payload's. Over
  // RDMA both come at once. meter: outlives this.
  void measure_arrivals(io::Occupancy& meter) { arriving_ = &meter; }
  // At the source, after start(): about how many bytes a second its path, its link and its thread's work on
  // each byte let the stream carry at most; nothing where nothing is known to bound it.
  virtual std::optional<double> rate_max() const { return std::nullopt; }
  // To be called about once a second. Shuts the stream if its peer's host has been out of reach for
  // kUnreachableMax at the time `now`.
  virtual void check_connection(io::Clock::time_point now) { (void)now; }

  // At the source: waits for a free slot of the target and returns it. First come, first served.
  CreditAwaiter credit();
  // At the source: sends a frame, and resumes when the payload's memory may be used again. frame.slot must be
  // a credited slot (for frames that take one), and payload.size() == frame.length. Nothing is sent after an
  // end frame.
  SendAwaiter send(const Frame& frame, std::span<const std::byte> payload);
  // At the source: returns what became of the chunk in slot. When this resumes, the slot is back among the
  // credits, and the answers to a question (FrameKind::compare and so on) are in *verdicts, which must live
  // until then.
  AckAwaiter acknowledged(std::uint32_t slot, Verdicts* verdicts = nullptr);

  // At the target: returns the next chunk, or nothing after the source's end frame.
  ReceiveAwaiter receive();
  // At the target: gives the slot back, with what became of its chunk. Does not wait. Does nothing on a
  // stream that is shut.
  void release(std::uint32_t slot, AckStatus status, const Verdicts& verdicts = {});

  // Ends everything: all that wait and all that come later get `why`, and the transport closes its
  // connection. Only the first call counts.
  void shut(const io::Error& why);
  // Returns why the stream was shut, or nothing while it lives and after it has ended well.
  const std::optional<io::Error>& why_shut() const { return why_shut_; }
  // At the target, after its end: true if the source has said with it that it has failed, so that not all
  // came.
  bool cut_short() const { return cut_short_; }
  const StreamCounters& counters() const { return counters_; }

 protected:
  enum class Side : std::uint8_t { source, target };

  // peer is the other side's name in errors.
  Stream(io::Ring& ring, Side side, const StreamShape& shape, std::string peer);

  io::Ring& ring() { return ring_; }
  Side side() const { return side_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::uint32_t target_slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  bool shut_down() const { return why_shut_.has_value(); }
  // True once the end frame was handed over (source) or has arrived (target).
  bool ended() const { return ended_; }
  // True if the stream has ended and no chunk is unanswered. Whatever happens to the connection from now on
  // is not an error.
  bool over() const { return ended_ && busy_count_ == 0 && awaited_grants_ == 0; }
  // Returns "peer ADDRESS: detail".
  io::Error peer_error(io::ErrorKind kind, std::string_view detail) const;
  io::Error peer_errno(int code) const;

  // For transports: starts to send what the awaiter holds. complete_send() follows once nothing reads its
  // payload any more, also on a shut stream.
  virtual void post_send(SendAwaiter& awaiter) = 0;
  // For transports, at the target: sends a credit frame when it can.
  virtual void post_credit(const Frame& credit) = 0;
  // For transports: does the same as shut(), except after an error of kind digest (what arrived is not what
  // was sent). The connection then stays until shut() is called, because if it were closed here, the other
  // side would take that for the cause. A held stream is not idle.
  void shut_for(const io::Error& why);
  bool held() const { return held_; }
  // For transports: closes the connection. What is under way in the ring must come to an end soon. May be
  // called from within the transport's own code.
  virtual void close_connection() = 0;

  // At the target: grants every slot, once, when the stream starts.
  void grant_all();
  // At the source, when the stream starts: every slot counts as granted, because the target will grant them
  // all. The first chunks need not wait for that, and the stream is not over before it has come.
  void take_for_granted();
  void complete_send(SendAwaiter& awaiter);
  // To be called when a frame's header has arrived. If the frame may not come now (its slot is not granted or
  // in use, its kind is the wrong side's, its length is over the slot, it answers what was not asked, it
  // comes after the end), shuts the stream and returns the error. For chunks the transport then fills the
  // slot and calls deliver().
  io::Result<void> accept(const Frame& frame);
  // To be called when a whole accepted frame is there. Credits go to the source's accounts, chunks and the
  // end to receivers.
  void deliver(const Frame& frame);

 private:
  enum class SlotState : std::uint8_t { unknown, free, credited, busy, answered, granted, filling, filled };
  struct Slot {
    SlotState state = SlotState::unknown;
    bool grant_awaited = false;       // source: it is used already (take_for_granted())
    FrameKind sent = FrameKind::end;  // source: the frame that is under way in it, and its flags
    std::uint8_t sent_flags = 0;
    AckStatus status = AckStatus::granted;
    Verdicts verdicts;
    AckAwaiter* waiter = nullptr;
  };

  // A first-in, first-out queue whose room is allocated once. The number of slots bounds what is ever in it.
  template <class T>
  class Fifo {
   public:
    explicit Fifo(std::size_t room) : items_(room) {}
    bool empty() const { return count_ == 0; }
    void push(const T& item) {
      assert(count_ < items_.size());
      items_[(head_ + count_++) % items_.size()] = item;
    }
    T pop() {
      assert(count_ > 0);
      --count_;
      const std::size_t first = head_;
      head_ = (head_ + 1) % items_.size();
      return items_[first];
    }

   private:
    std::vector<T> items_;
    std::size_t head_ = 0;
    std::size_t count_ = 0;
  };

  const char* fault_at_source(const Frame& frame) const;
  const char* fault_at_target(const Frame& frame) const;
  void take_credit(const Frame& frame);
  void hand_to_receiver(Frame frame);
  void make_free(std::uint32_t slot);
  void tell_shut(const io::Error& why);
  void wake_all(io::WaiterQueue& waiters);

  io::Ring& ring_;
  Side side_;
  std::size_t slot_bytes_;
  std::string peer_;
  std::vector<Slot> slots_;
  io::Occupancy* arriving_ = nullptr;
  std::uint32_t busy_count_ = 0;  // source: sent, not answered; target: filling or filled
  std::uint32_t awaited_grants_ = 0;
  bool ended_ = false;
  bool cut_short_ = false;
  Fifo<std::uint32_t> free_;         // source; empty while someone waits for a credit
  Fifo<Frame> received_;             // target; empty while someone waits to receive
  io::WaiterQueue credit_waiters_;   // of CreditAwaiter
  io::WaiterQueue receive_waiters_;  // of ReceiveAwaiter
  std::optional<io::Error> why_shut_;
  bool held_ = false;  // shut, but not closed
  StreamCounters counters_;
};

// Awaiters are resumed through the ring's ready list, never from within a transport's code.
//   credit()        -> io::Result<std::uint32_t>
//   send()          -> io::Result<void>
//   acknowledged()  -> io::Result<AckStatus>
//   receive()       -> io::Result<std::optional<Frame>>
// (definitions in stream_awaiters.h, included here so that callers need one include)

}  // namespace rdcp::net

#include "net/stream/stream_awaiters.h"
