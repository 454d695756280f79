// Threads whose start may fail with an error value. It fails if processes and threads are limited (ulimit -u,
// a container's limit on pids) or memory is. std::thread would throw then, and nobody would catch that.
#pragma once

#include <pthread.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "io/result.h"

namespace rdcp::io {

// A thread that is joined by its owner or by the destructor. Movable.
class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept : id_(std::exchange(other.id_, std::nullopt)) {}
  Thread& operator=(Thread&& other) noexcept {
    join();
    id_ = std::exchange(other.id_, std::nullopt);
    return *this;
  }
  ~Thread() { join(); }

  // Runs work() in a new thread. `what` names it in an error, for example "a worker".
  template <class Work>
  static Result<Thread> start(std::string_view what, Work work) {
    return start_job(what, std::make_unique<JobOf<Work>>(std::move(work)));
  }

  bool joinable() const { return id_.has_value(); }
  // Waits until the thread ends. Does nothing if there is no thread.
  void join();
  // Lets the thread run on by itself.
  void detach();

 private:
  struct Job {
    virtual ~Job() = default;
    virtual void run() = 0;
  };
  template <class Work>
  struct JobOf final : Job {
    explicit JobOf(Work work) : work(std::move(work)) {}
    void run() override { work(); }
    Work work;
  };
  static Result<Thread> start_job(std::string_view what, std::unique_ptr<Job> job);
  static void* enter(void* job);

  std::optional<pthread_t> id_;
};

// Returns the number of processors that this process may use, at least 1.
unsigned processors();

}  // namespace rdcp::io
