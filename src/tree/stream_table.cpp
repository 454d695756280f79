#include "tree/stream_table.h"

#include <algorithm>

#include "net/stream.h"

namespace rdcp::tree {

void StreamTable::begin(std::size_t count) {
  const std::lock_guard lock(mutex_);
  streams_.assign(count, Stream());
}

void StreamTable::end(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  streams_[stream].state = State::ended;
  if (!first_end_) first_end_ = io::Clock::now();
  wake_workers();
}

bool StreamTable::lose(std::size_t stream, const std::string& description, const io::Error& cause) {
  const std::lock_guard lock(mutex_);
  streams_[stream].state = State::lost;
  if (std::ranges::all_of(streams_, [](const Stream& other) { return other.state == State::lost; }))
    return false;
  lost_.push_back("stream " + std::to_string(stream + 1) + " (" + description +
                  ") was lost: " + cause.message());
  return true;
}

bool StreamTable::any_ended() const {
  const std::lock_guard lock(mutex_);
  return first_end_.has_value();
}

std::vector<std::string> StreamTable::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

bool StreamTable::give_up(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  if (stream >= streams_.size()) return false;
  streams_[stream].given_up = true;
  wake_workers();
  return true;
}

bool StreamTable::given_up(std::size_t stream) const {
  const std::lock_guard lock(mutex_);
  return streams_[stream].given_up;
}

void StreamTable::leave(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  streams_[stream].left = true;
  streams_[stream].ring = nullptr;
  wake_workers();
}

bool StreamTable::has_left(std::size_t stream) const {
  const std::lock_guard lock(mutex_);
  return streams_[stream].left;
}

bool StreamTable::overdue() const {
  const std::lock_guard lock(mutex_);
  return first_end_ && io::Clock::now() - *first_end_ > net::kUnreachableMax;
}

void StreamTable::wake_all() {
  const std::lock_guard lock(mutex_);
  wake_workers();
}

void StreamTable::subscribe(std::size_t stream, io::Ring* ring) {
  const std::lock_guard lock(mutex_);
  streams_[stream].ring = ring;
}

// With the mutex held.
void StreamTable::wake_workers() {
  changes_.fetch_add(1, std::memory_order_release);
  for (const Stream& stream : streams_) {
    if (stream.ring != nullptr) stream.ring->wake();
  }
}

}  // namespace rdcp::tree
