// Runs the worker threads of one side of a job, one for each stream, including streams that come later: in
// place of lost ones, or because more make the copy faster.
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
#include <string>
#include <vector>

#include "io/result.h"
#include "io/ring.h"
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

// Decides over how many streams a copy goes.
class StreamPolicy {
 public:
  using Clock = io::Clock;
  virtual ~StreamPolicy() = default;
  // Takes how many bytes have arrived since the copy began, and how many streams live. To be called every few
  // milliseconds. Returns over how many streams the copy is to go from now on; nothing: over as many as
  // before.
  virtual std::optional<std::size_t> take(Clock::time_point now, std::uint64_t bytes, std::size_t living) = 0;
  // Says in words what came of it; empty if that is not worth a word.
  virtual std::string outcome() const = 0;
};

// Holds what a policy goes by, and where what it says is told, if the other side connects.
struct StreamChoice {
  StreamPolicy* policy = nullptr;  // null: there are as many streams as at first
  std::function<std::uint64_t()> arrived_bytes;
  std::function<void(std::size_t)> tell;
};

// Says how often a StreamSupervisor checks if the run was stopped or a stream lost, the pauses between tries
// for another stream, each of which is twice as long as the one before, and how long others are waited for
// where not one has ever come: it may be that the other side meets somebody else.
struct SupervisorPace {
  std::chrono::milliseconds look_every{50};
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds pause_max{5000};
  std::chrono::milliseconds none_came_max{15'000};
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

  // Asks the policy as long as there may be further streams. Before run().
  void follow(StreamChoice choice) { choice_ = std::move(choice); }

  // Those of the streams that never came count as lost. Runs until every worker has ended, and a stream has
  // ended well or no more can be had. In the latter case the run fails with the cause of the last loss. It
  // also fails if a thread cannot be started. further is null if there are no further streams; patience is
  // how long to wait for them, if any stream has ever come.
  void run(const std::vector<StreamMaker>& streams, FurtherStreams* further,
           std::chrono::milliseconds patience);

 private:
  void start(std::size_t stream, const StreamMaker& maker);
  void miss(std::size_t stream);
  void fetch(FurtherStreams& further, std::chrono::milliseconds patience);
  struct Tries;
  bool wait_for_need(Tries& tries, std::chrono::milliseconds patience);
  bool pause(Tries& tries);
  StreamsLeft left() const;
  void choose(const FurtherStreams& further);
  bool finished(std::chrono::milliseconds patience) const;

  StreamTable& table_;
  const Work work_;
  const std::function<bool()> over_;
  const Fail fail_;
  const SupervisorPace pace_;
  StreamChoice choice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<io::Thread> threads_;
  std::size_t running_ = 0;
  bool closing_ = false;
  bool came_ = false;  // any stream
  std::size_t next_stream_ = 0;
};

}  // namespace rdcp::tree
