// The coroutine type of a worker, and lists of coroutines that wait.
//
// A Task is one long-lived loop (a slot's loop, a stream's pump): its frame is allocated once, when it is
// made, and nothing that it awaits allocates. g++ 12 miscompiles aggregate temporaries in a co_await
// expression and co_await in a conditional operator, so every awaiter here has a constructor, and callers
// keep each co_await in a statement of its own.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace rdcp::io {

// Owns a coroutine that returns nothing. It starts suspended; start() runs it to its first suspension. Not
// thread-safe: a task lives on one worker's thread. Destroying a task that is not done is a bug, unless
// nothing of it is under way in its ring any more.
class [[nodiscard]] Task {
 public:
  struct promise_type {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void start() { handle_.resume(); }
  bool done() const { return !handle_ || handle_.done(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// A suspended coroutine, as a node of a list. It lives in an awaiter, hence in a coroutine's frame.
struct Waiter {
  std::coroutine_handle<> handle;
  Waiter* next = nullptr;
};

// A first-in, first-out queue. It does not own its waiters.
class WaiterQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  void push(Waiter& waiter) {
    waiter.next = nullptr;
    *tail_ = &waiter;
    tail_ = &waiter.next;
  }
  Waiter* pop() {
    Waiter* first = head_;
    if (first != nullptr) {
      head_ = first->next;
      if (head_ == nullptr) tail_ = &head_;
    }
    return first;
  }
  WaiterQueue() = default;
  WaiterQueue(const WaiterQueue&) = delete;
  WaiterQueue& operator=(const WaiterQueue&) = delete;

 private:
  Waiter* head_ = nullptr;
  Waiter** tail_ = &head_;
};

}  // namespace rdcp::io
