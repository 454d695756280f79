// The state of each of a job's streams, on either side. A stream that is lost is dropped as long as another
// one is left, and the others carry what was under way on it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/result.h"
#include "io/ring.h"

namespace rdcp::tree {

// Thread-safe.
class StreamTable {
 public:
  // Sets the function that is called, by workers, with the number of each stream that is lost here, so that
  // the other side is told; it is not called if that side said so first. To be called before begin().
  void set_tell(std::function<void(std::size_t)> tell) { tell_ = std::move(tell); }
  // The loss of any stream ends the run, because nothing is sent twice. To be called before begin().
  void need_all() { needs_all_ = true; }
  // To be called before the workers start. may_come_back: further streams may replace lost ones, so the loss
  // of the last one does not end the run.
  void begin(std::size_t count, bool may_come_back = false);
  // Adds a further stream in place of a lost one, even if the loss has not been noticed here yet. Returns
  // false if its number was used before or is given up, or if twice as many live as there were at first.
  bool add(std::size_t stream);
  // How many streams there were at first.
  std::size_t count() const;
  std::size_t living() const;
  // Has chunks go over so many streams from now on, but no fewer than there were at first, and no more than
  // add() takes: the other side may say how many. Those with the highest numbers rest, until another one ends
  // or is lost; if fewer live, the others are missing.
  void use(std::size_t streams);
  // True if the stream is not to begin with another chunk. Any thread, at any time.
  bool rests(std::size_t stream) const { return stream >= resting_from_.load(std::memory_order_relaxed); }
  // How many of the streams that are to be used are lost and not replaced, or have not been made. None is
  // missing once a stream has ended well.
  std::size_t missing() const;
  // How often there was a new reason for another stream: how many streams were lost, without failed tries,
  // and how many more were to be used. It never decreases.
  std::size_t needs() const;
  // True if a chunk went over the newest of the streams that replaced others, or over any of the first ones
  // if none has come since.
  bool last_carried() const;
  // True if all are lost, and the last loss, failed tries excepted, is at least that long ago.
  bool gone_for(std::chrono::milliseconds time) const;
  // True if the other side has been reached: a stream lives, or has ended well.
  bool connected() const;
  std::optional<io::Error> last_loss() const;

  // The stream's last frame has been sent (source) or received (target), so everything is settled.
  void end(std::size_t stream);
  // Records a loss. carried tells if any chunk went over the stream. A further stream that carried nothing is
  // a failed try, unless it was merely idle: it is not reported, and patience does not start anew. Returns
  // false if the run ends with this loss, because no stream lives or has ended well, and none may come.
  bool lose(std::size_t stream, const std::string& description, const io::Error& cause, bool carried);
  // True for a further stream that did not come, or was a failed try.
  bool in_vain(std::size_t stream) const;
  bool any_ended() const;
  // Returns one line for each lost stream.
  std::vector<std::string> lost() const;

  // The other side says that a stream is lost. Its worker is woken and must end it; if the stream has not
  // come, it never will. Any thread may call this, even before begin(). Returns false if no stream can have
  // such a number.
  bool give_up(std::size_t stream);
  bool given_up(std::size_t stream) const;
  bool any_given_up() const;
  // The stream's worker no longer touches anything. Wakes the others, who may have to tell the source.
  void leave(std::size_t stream);
  bool has_left(std::size_t stream) const;
  // True if another stream ended so long ago that this one's end must have been lost with its connection.
  bool overdue() const;
  // Wakes all workers, because something that slots of several workers wait for has changed.
  void wake_all();
  // The same, if this stream's own slots know it already.
  void wake_others(std::size_t stream);
  // A worker's ring is woken when changes() changes, until the worker leaves.
  void subscribe(std::size_t stream, io::Ring* ring);
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

 private:
  static constexpr std::size_t kNoneRests = std::numeric_limits<std::size_t>::max();
  enum class State : std::uint8_t { living, ended, lost };
  struct Stream {
    State state = State::living;
    bool in_vain = false;
    bool carried = false;
    io::Clock::time_point since = io::Clock::now();
    bool known = true;  // false: it has not come; a higher number has, or it was given up
    bool given_up = false;
    bool left = false;
    io::Ring* ring = nullptr;
  };
  bool note_loss(std::size_t stream, const std::string& description, const io::Error& cause, bool carried);
  void wake_workers();
  void make_room_for(std::size_t stream);
  bool all_lost() const;
  std::size_t living_now() const;
  std::size_t most() const { return 2 * count_; }  // that may live at the same time

  mutable std::mutex mutex_;
  std::vector<Stream> streams_;
  std::vector<std::string> lost_;
  std::size_t count_ = 0;   // how many streams there were at first
  std::size_t wanted_ = 0;  // how many there are to be
  std::size_t raised_ = 0;  // how often wanted_ grew
  std::atomic<std::size_t> resting_from_{kNoneRests};
  bool may_come_back_ = false;
  bool needs_all_ = false;
  bool begun_ = false;
  std::vector<std::size_t> early_;  // streams given up before begin()
  std::function<void(std::size_t)> tell_;
  std::optional<io::Error> last_loss_;
  io::Clock::time_point lost_since_;
  std::optional<io::Clock::time_point> first_end_;
  std::atomic<std::uint64_t> changes_{1};  // so that a worker that starts sees a change
};

}  // namespace rdcp::tree
