// Runs the worker threads of one side of a job, one for each stream, including streams that replace lost
// ones.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "io/result.h"
#include "io/thread.h"
#include "tree/streams/stream_table.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// A stream that comes later. No other stream of the job has or had its number.
struct FurtherStream {
  std::size_t stream = 0;
  StreamMaker maker;
};

// Says which of a job's streams are left; and, if none is, whether the last ones carried any chunk before
// they were lost. Those that did not were lost because of their path or their device.
enum class StreamsLeft : std::uint8_t { some, none, none_carried };

// The source of such streams. Only stop() may be called by any thread, the others by one.
class FurtherStreams {
 public:
  virtual ~FurtherStreams() = default;
  // True if this side connects, so that next() tries once. False if the other side does; next() then waits
  // for it.
  virtual bool connects() const = 0;
  // stream is the number to give to it, on the side that connects; left tells what it is needed for. Returns
  // nothing after a failure or stop().
  virtual std::optional<FurtherStream> next(std::size_t stream, StreamsLeft left) = 0;
  // Any thread may call this. next() then ends soon, and every later call at once.
  virtual void stop() = 0;
};

// Says how often a StreamSupervisor checks if the run was stopped or a stream lost, and the pauses between
// tries for another stream, each of which is twice as long as the one before.
struct SupervisorPace {
  std::chrono::milliseconds look_every{50};
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds pause_max{5000};
};

class StreamSupervisor {
 public:
  using Work = std::function<void(std::size_t stream, const StreamMaker& maker)>;

  using Fail = std::function<void(const io::Error& why)>;

  // work runs one worker from start to end. over returns true once the run is over and needs no more streams.
  // fail ends the run, so that over() becomes true; any thread may call it. All of them must outlive this.
  StreamSupervisor(StreamTable& table, Work work, std::function<bool()> over, Fail fail,
                   const SupervisorPace& pace = {})
      : table_(table), work_(std::move(work)), over_(std::move(over)), fail_(std::move(fail)), pace_(pace) {}

  // Runs until every worker has ended, and a stream has ended well or no more can be had. In the latter case
  // the run fails with the cause of the last loss. It also fails if a thread cannot be started. further is
  // null if there are no further streams; patience is how long to wait for them.
  void run(const std::vector<StreamMaker>& streams, FurtherStreams* further,
           std::chrono::milliseconds patience);

 private:
  void start(std::size_t stream, const StreamMaker& maker);
  void fetch(FurtherStreams& further, std::chrono::milliseconds patience);
  struct Tries;
  bool wait_for_need(Tries& tries, std::chrono::milliseconds patience);
  bool pause(Tries& tries);
  StreamsLeft left() const;
  bool finished(std::chrono::milliseconds patience) const;

  StreamTable& table_;
  const Work work_;
  const std::function<bool()> over_;
  const Fail fail_;
  const SupervisorPace pace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<io::Thread> threads_;
  std::size_t running_ = 0;
  bool closing_ = false;
  std::size_t next_stream_ = 0;
};

}  // namespace rdcp::tree
