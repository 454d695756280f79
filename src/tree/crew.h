// The worker threads of one side of a job, a stream each: those that are there when it begins, and those of
// streams that come to take the place of lost ones.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "io/result.h"
#include "io/thread.h"
#include "tree/stream_table.h"
#include "tree/worker.h"

namespace rdcp::tree {

// A stream that comes later. Its number is none that another one of the job has or had.
struct FurtherStream {
  std::size_t stream = 0;
  StreamMaker maker;
};

// Where they come from. One thread, but for stop().
class FurtherStreams {
 public:
  virtual ~FurtherStreams() = default;
  // True: this side connects, so next() tries once. False: the other one does, and next() waits for it.
  virtual bool connects() const = 0;
  // stream: the number to give to it, on the side that connects. None: it failed, or stop().
  virtual std::optional<FurtherStream> next(std::size_t stream) = 0;
  // Any thread: next() ends soon, and every later one at once.
  virtual void stop() = 0;
};

class Crew {
 public:
  using Work = std::function<void(std::size_t stream, const StreamMaker& maker)>;

  using Fail = std::function<void(const io::Error& why)>;

  // work: a worker's life. over: the run is, so nobody has to come any more. fail: ends the run, after which
  // over() holds; any thread. All outlive this.
  Crew(StreamTable& table, Work work, std::function<bool()> over, Fail fail)
      : table_(table), work_(std::move(work)), over_(std::move(over)), fail_(std::move(fail)) {}

  // Until every worker has come to its end, and a stream has ended well or none is to be had any more: then
  // the run fails for the cause of the last one's loss. It fails, too, where no thread can be started.
  // further: null: there are none. patience: how long they are waited for.
  void run(const std::vector<StreamMaker>& streams, FurtherStreams* further, std::chrono::seconds patience);

 private:
  void start(std::size_t stream, const StreamMaker& maker);
  void fetch(FurtherStreams& further, std::chrono::seconds patience);
  struct Tries;
  bool wait_for_need(Tries& tries, std::chrono::seconds patience);
  bool pause(Tries& tries);
  bool finished(std::chrono::seconds patience) const;

  StreamTable& table_;
  const Work work_;
  const std::function<bool()> over_;
  const Fail fail_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<io::Thread> threads_;
  std::size_t running_ = 0;
  bool closing_ = false;
  std::size_t next_stream_ = 0;
};

}  // namespace rdcp::tree
