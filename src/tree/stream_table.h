// What has become of each of a job's streams, on either side. One that is lost is dropped as long as another
// one is left: what was under way on it goes over the others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  // Further streams have numbers below this.
  static constexpr std::size_t kStreamNumbersMax = 4096;

  // Hears the number of each stream that is lost here, unless the other side said so first: that is to be
  // told. Before begin(); called by workers.
  void set_tell(std::function<void(std::size_t)> tell) { tell_ = std::move(tell); }
  // Before the workers start. may_come_back: further streams may take the place of lost ones, so the loss of
  // the last one is not the end.
  void begin(std::size_t count, bool may_come_back = false);
  // A further stream, in place of one that is lost, whether or not that has been noticed here. False: its
  // number was used before, or is given up, or too many live.
  bool add(std::size_t stream);
  // How many there were at first.
  std::size_t count() const;
  // How many of those that there were at first are lost and have not been replaced; none once one has ended.
  std::size_t missing() const;
  // How many were lost that were no failed tries; grows only.
  std::size_t losses() const;
  // True when all are lost, the last one that was no failed try that long ago or longer.
  bool gone_for(std::chrono::seconds time) const;
  std::optional<io::Error> last_loss() const;

  // The stream's last word has been said (source) or heard (target): everything is settled.
  void end(std::size_t stream);
  // carried: whether any chunk went over it. A further one that carried nothing is a failed try, unless it
  // was only idle: nobody hears of it, and it renews no patience. False: no stream is left that lives or has
  // ended well, and none may come, so the run ends with this one.
  bool lose(std::size_t stream, const std::string& description, const io::Error& cause, bool carried);
  // A further stream that did not come, or was a failed try.
  bool in_vain(std::size_t stream) const;
  bool any_ended() const;
  // One line for each.
  std::vector<std::string> lost() const;

  // The other side says that a stream is lost: its worker, woken, is to end it. One that has not come never
  // will. Any thread, before begin(), too. False: no stream has such a number.
  bool give_up(std::size_t stream);
  bool given_up(std::size_t stream) const;
  bool any_given_up() const;
  // Its worker touches nothing any more. Wakes the others, who may have to tell the source.
  void leave(std::size_t stream);
  bool has_left(std::size_t stream) const;
  // Another stream ended so long ago that this one's end must have got lost with its connection.
  bool overdue() const;
  // Something that slots of several workers wait for has changed.
  void wake_all();
  // The same, where this stream's own slots know already.
  void wake_others(std::size_t stream);
  // Workers: their ring is woken when changes() is another, until they leave.
  void subscribe(std::size_t stream, io::Ring* ring);
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

 private:
  enum class State : std::uint8_t { living, ended, lost };
  struct Stream {
    State state = State::living;
    bool in_vain = false;
    io::Clock::time_point since = io::Clock::now();
    bool known = true;  // false: another one with a higher number came, or it was given up, before it
    bool given_up = false;
    bool left = false;
    io::Ring* ring = nullptr;
  };
  bool note_loss(std::size_t stream, const std::string& description, const io::Error& cause, bool carried);
  void wake_workers();
  void make_room_for(std::size_t stream);
  bool all_lost() const;
  std::size_t living() const;

  mutable std::mutex mutex_;
  std::vector<Stream> streams_;
  std::vector<std::string> lost_;
  std::size_t replaced_ = 0;  // of them, the first; may run ahead of the loss
  std::size_t count_ = 0;     // at first
  bool may_come_back_ = false;
  bool begun_ = false;
  std::vector<std::size_t> early_;  // given up before begin()
  std::function<void(std::size_t)> tell_;
  std::optional<io::Error> last_loss_;
  io::Clock::time_point lost_since_;
  std::optional<io::Clock::time_point> first_end_;
  std::atomic<std::uint64_t> changes_{1};  // more than a worker has seen when it starts
};

}  // namespace rdcp::tree
