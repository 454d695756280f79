// Drives a coroutine on a ring until it is done.
#pragma once

#include <gtest/gtest.h>

#include "io/ring.h"

namespace rdcp::io {

// Fails the test, rather than hanging it, when the task makes no end of itself.
inline void run_task(Ring& ring, Task& task, Clock::duration limit = std::chrono::seconds(30)) {
  const Clock::time_point deadline = Clock::now() + limit;
  task.start();
  while (!task.done()) {
    ASSERT_LT(Clock::now(), deadline) << "the task is still waiting";
    const Result<void> ran = ring.run_once(std::chrono::seconds(1));
    ASSERT_TRUE(ran.ok()) << ran.error().message();
  }
}

// One operation, start to end.
inline IoResult run_operation(Ring& ring, Operation& operation) {
  IoResult result;
  Task task = [](Operation& awaited, IoResult& into) -> Task { into = co_await awaited; }(operation, result);
  run_task(ring, task);
  return result;
}

}  // namespace rdcp::io
