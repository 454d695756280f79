// What has become of each of a job's streams, on either side. One that is lost is dropped as long as another
// one is left: what was under way on it goes over the others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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
  // Before the workers start.
  void begin(std::size_t count);

  // The stream's last word has been said (source) or heard (target): everything is settled.
  void end(std::size_t stream);
  // False: no stream is left that lives or has ended well, so the run ends with this one.
  bool lose(std::size_t stream, const std::string& description, const io::Error& cause);
  bool any_ended() const;
  // One line for each.
  std::vector<std::string> lost() const;

  // Target. The source says that a stream is lost: its worker, woken, is to end it. False: no such stream.
  bool give_up(std::size_t stream);
  bool given_up(std::size_t stream) const;
  // Its worker touches nothing any more. Wakes the others, who may have to tell the source.
  void leave(std::size_t stream);
  bool has_left(std::size_t stream) const;
  // Another stream ended so long ago that this one's end must have got lost with its connection.
  bool overdue() const;
  // Something that slots of several workers wait for has changed.
  void wake_all();
  // Target's workers: their ring is woken when changes() is another.
  void subscribe(std::size_t stream, io::Ring* ring);
  std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

 private:
  enum class State : std::uint8_t { living, ended, lost };
  struct Stream {
    State state = State::living;
    bool given_up = false;
    bool left = false;
    io::Ring* ring = nullptr;
  };
  void wake_workers();

  mutable std::mutex mutex_;
  std::vector<Stream> streams_;
  std::vector<std::string> lost_;
  std::optional<io::Clock::time_point> first_end_;
  std::atomic<std::uint64_t> changes_{1};  // more than a worker has seen when it starts
};

}  // namespace rdcp::tree
