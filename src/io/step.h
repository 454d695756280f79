// A part of a task that can itself wait.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "io/frame_pool.h"

namespace rdcp::io {

// A coroutine that returns a T, and is awaited once, by the task (or step) that made it. Its frame comes from
// the thread's frame pool, and is given back on the same thread.
template <class T>
class [[nodiscard]] Step {
 public:
  struct promise_type {
    static void* operator new(std::size_t bytes) { return take_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { give_back_frame(frame, bytes); }
    Step get_return_object() { return Step(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Last {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        const std::coroutine_handle<> waiter = self.promise().waiter;
        return waiter ? waiter : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Last final_suspend() noexcept { return {}; }
    void return_value(T result) { value = std::move(result); }
    void unhandled_exception() { std::terminate(); }

    std::optional<T> value;
    std::coroutine_handle<> waiter;
  };

  Step(Step&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Step& operator=(Step&&) = delete;
  ~Step() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const { return false; }
  // Runs the coroutine until it waits for something. If it never does, its waiter continues at once.
  bool await_suspend(std::coroutine_handle<> waiter) {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().waiter = waiter;
    return true;
  }
  T await_resume() { return std::move(*handle_.promise().value); }

 private:
  explicit Step(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace rdcp::io
