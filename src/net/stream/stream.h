// One ordered connection between two agents, as the tree layer sees it. Callers cannot tell the transports
// apart.
//
//   source:  slot = co_await stream.credit()       -> leave to use one of the target's slots
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
//   well:   The source, with every chunk acknowledged, sends an end frame (which takes no slot). Its
//   receivers at the
//           target get nothing from then on. Each side then closes its connection by itself, without waiting
//           for the other: the source when the end is handed to the transport and no chunk is unanswered, the
//           target when every slot is released and every credit is out. An end sent while chunks are still
//           unanswered is in order: both sides stay until these are settled. Each side waits until idle(); no
//           error is left behind, and a peer that is gone from then on is none.
//   badly:  A connection that closes or fails before that, a frame against the accounts, or a call of shut():
//   all
//           that wait and all that come later get the first cause. idle() holds soon after. The peer is not
//           told why, it sees a connection that closed too early.
//
// The base class keeps the accounts (which slots are granted, which are under way) and checks each frame
// against them; a transport moves frames and payloads. Frames arrive in the order in which they were sent.
// One thread: the worker's.
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
#include "io/ring.h"
#include "net/stream/frame.h"

namespace rdcp::net {

// What the two ends of a stream agreed on beforehand (over control).
struct StreamShape {
  std::uint32_t target_slots = 0;
  std::size_t slot_bytes = 0;
};

// What the awaits of a stream waited for, in nanoseconds summed over coroutines; for the "limited by" line.
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

// A host that acknowledges nothing for so long is gone. One that is only slow does acknowledge.
inline constexpr std::chrono::seconds kUnreachableMax{25};

class Stream {
 public:
  class CreditAwaiter;
  class SendAwaiter;
  class AckAwaiter;
  class ReceiveAwaiter;

  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Begins to move frames. The target grants all its slots. Called once, on the worker's thread, before
  // anything else.
  virtual void start() = 0;
  // True when nothing of this stream is under way in the ring any more; a worker runs its ring until then,
  // and only then may the stream be destroyed.
  virtual bool idle() const = 0;
  // "tcp 10.0.0.1:40000 -> 10.0.0.2:41000" or the like.
  virtual std::string description() const = 0;
  // Target. Whether the source could still change a chunk that lies in its slot: what is parsed is copied
  // first.
  virtual bool peer_can_write() const { return false; }
  // Whether a device holds the arena, or as much, locked in memory, which counts against RLIMIT_MEMLOCK.
  virtual bool locks_arena() const { return false; }
  // To be called about once a second: shuts the stream when its peer's host has been out of reach for
  // kUnreachableMax.
  virtual void check_connection() {}

  // Source. A granted slot of the target, first come, first served; waits while none is free.
  CreditAwaiter credit();
  // Source. frame.slot is a credited slot (frames that take one); payload.size() == frame.length. Resumes
  // when the payload's memory may be used again. Nothing is sent after an end frame.
  SendAwaiter send(const Frame& frame, std::span<const std::byte> payload);
  // Source. What became of the chunk in slot; the slot is back among the credits when this resumes.
  // verdicts: where the answers to a question (FrameKind::compare and so on) go, until this resumes.
  AckAwaiter acknowledged(std::uint32_t slot, Verdicts* verdicts = nullptr);

  // Target. The next chunk, or nothing after the source's end frame.
  ReceiveAwaiter receive();
  // Target. Gives slot back with a word on its chunk; does not wait. Nothing happens on a stream that is
  // shut.
  void release(std::uint32_t slot, AckStatus status, const Verdicts& verdicts = {});

  // Ends everything: all that wait and all that come later get `why`. The first call counts. The transport
  // closes its connection.
  void shut(const io::Error& why);
  // Why the stream was shut; nothing while it lives and after it ended well.
  const std::optional<io::Error>& why_shut() const { return why_shut_; }
  const StreamCounters& counters() const { return counters_; }

 protected:
  enum class Side : std::uint8_t { source, target };

  // peer: what errors call the other side.
  Stream(io::Ring& ring, Side side, const StreamShape& shape, std::string peer);

  io::Ring& ring() { return ring_; }
  Side side() const { return side_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::uint32_t target_slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  bool shut_down() const { return why_shut_.has_value(); }
  // The end frame was handed over (source) or has arrived (target).
  bool ended() const { return ended_; }
  // Ended, and no chunk is unanswered: whatever happens to the connection from now on is no error.
  bool over() const { return ended_ && busy_count_ == 0; }
  // "peer ADDRESS: detail".
  io::Error peer_error(io::ErrorKind kind, std::string_view detail) const;
  io::Error peer_errno(int code) const;

  // For transports. Starts to send what awaiter holds; it is completed later by complete_send(), on a shut
  // stream too, once nothing reads its payload any more.
  virtual void post_send(SendAwaiter& awaiter) = 0;
  // For transports (target): sends a credit frame when it can.
  virtual void post_credit(const Frame& credit) = 0;
  // For transports: as shut(), but where what arrived is not what was sent (an error of kind digest), the
  // connection stays until shut() is called: if it were closed here, the other side would take that for the
  // cause. A held stream is not idle.
  void shut_for(const io::Error& why);
  bool held() const { return held_; }
  // For transports: closes the connection; what is under way in the ring must come to an end soon. May be
  // called from within the transport's own code.
  virtual void close_connection() = 0;

  // Target: grants every slot, once, when the stream starts.
  void grant_all();
  void complete_send(SendAwaiter& awaiter);
  // A frame's header has arrived. An error when it may not come now (slot not granted or in use, kind of the
  // wrong side, length over the slot, something after the end): the stream is shut then. For chunks the
  // transport then fills the slot and calls deliver().
  io::Result<void> accept(const Frame& frame);
  // A whole accepted frame is there: credits go to the source's accounts, chunks and the end to receivers.
  void deliver(const Frame& frame);

 private:
  enum class SlotState : std::uint8_t { unknown, free, credited, busy, answered, granted, filling, filled };
  struct Slot {
    SlotState state = SlotState::unknown;
    AckStatus status = AckStatus::granted;
    Verdicts verdicts;
    AckAwaiter* waiter = nullptr;
  };

  // First in, first out, in room that is made once. Slots bound what is ever in it.
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
  std::uint32_t busy_count_ = 0;  // source: sent, not answered; target: filling or filled
  bool ended_ = false;
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
