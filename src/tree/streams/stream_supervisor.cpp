#include "tree/streams/stream_supervisor.h"

#include <algorithm>
#include <utility>

#include "net/stream/stream.h"
#include "tree/messages/job.h"

namespace rdcp::tree {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The side that waits may notice a loss this much earlier than the side that connects.
constexpr std::chrono::seconds kGrace = net::kUnreachableMax;

}  // namespace

void StreamSupervisor::run(const std::vector<StreamMaker>& streams, FurtherStreams* further,
                           milliseconds patience) {
  if (further == nullptr) patience = milliseconds(0);
  table_.begin(streams.size(), patience > milliseconds(0));
  next_stream_ = streams.size();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (!streams[i]) miss(i);
  }
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i]) start(i, streams[i]);
    }
  }
  io::Thread fetching;
  if (patience > milliseconds(0)) {
    auto started = io::Thread::start("a thread for lost streams", [&] { fetch(*further, patience); });
    if (!started) fail_(started.error());
    if (started) fetching = std::move(*started);
  }
  const milliseconds until_gone = fetching.joinable() && !further->connects() ? patience + kGrace : patience;
  {
    std::unique_lock lock(mutex_);
    while (!finished(until_gone)) {
      changed_.wait_for(lock, pace_.look_every);
      lock.unlock();
      if (further != nullptr) choose(*further);
      lock.lock();
    }
    closing_ = true;
  }
  changed_.notify_all();
  if (fetching.joinable()) {
    further->stop();
    fetching.join();
  }
  for (io::Thread& thread : threads_) thread.join();
  const bool hopeless = !table_.any_ended() && !over_();
  const auto lost = hopeless ? table_.last_loss() : std::nullopt;
  if (lost) fail_(*lost);
}

// To be called with the mutex held.
bool StreamSupervisor::finished(milliseconds patience) const {
  if (running_ > 0) return false;
  return over_() || table_.any_ended() ||
         table_.gone_for(came_ ? patience : std::min(patience, pace_.none_came_max));
}

void StreamSupervisor::choose(const FurtherStreams& further) {
  if (choice_.policy == nullptr) return;
  const auto streams = choice_.policy->take(io::Clock::now(), choice_.arrived_bytes(), table_.living());
  if (!streams) return;
  table_.use(*streams);
  if (!further.connects()) choice_.tell(*streams);
}

StreamsLeft StreamSupervisor::left() const {
  if (!table_.gone_for(milliseconds(0))) return StreamsLeft::some;
  return table_.last_carried() ? StreamsLeft::none : StreamsLeft::none_carried;
}

// To be called with the mutex held.
void StreamSupervisor::start(std::size_t stream, const StreamMaker& maker) {
  ++running_;
  came_ = true;
  auto thread = io::Thread::start("a thread for a stream", [this, stream, maker] {
    maker.prepare_thread();
    work_(stream, maker);
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  });
  if (thread) {
    threads_.push_back(std::move(*thread));
  } else {
    --running_;
    fail_(thread.error());
  }
}

// Nobody is at work on it, so the source may have sent again what it had sent over it.
void StreamSupervisor::miss(std::size_t stream) {
  const io::Error cause = io::plain_error(io::ErrorKind::connection, "accept", "stream",
                                          "the other side lost it before it was proven here");
  if (!table_.lose(stream, "tcp", cause, false)) fail_(cause);
  table_.leave(stream);
}

// The tries of the side that connects to make what is missing. They start anew with each need.
struct StreamSupervisor::Tries {
  SteadyClock::time_point since{};  // when the tries began
  milliseconds pause;               // before the next one, once there were as many as are missing
  std::size_t made = 0;
  std::size_t needs = 0;  // StreamTable::needs() when they began
};

// Waits until a stream is missing and worth another try: while others are left, it is tried for no longer
// than `patience`. Returns false if the run is over.
bool StreamSupervisor::wait_for_need(Tries& tries, milliseconds patience) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closing_ || over_()) return false;
    const bool needed = table_.missing() > 0;
    if (const std::size_t needs = table_.needs(); needed && needs != tries.needs) {
      tries = {.since = SteadyClock::now(), .pause = pace_.first_pause, .needs = needs};
    }
    if (needed && SteadyClock::now() - tries.since <= patience) return true;
    if (table_.gone_for(milliseconds(0))) tries.since = SteadyClock::now();
    if (!needed || SteadyClock::now() - tries.since > patience) changed_.wait_for(lock, pace_.look_every);
  }
}

// Waits before the next try. Returns false if the run is over.
bool StreamSupervisor::pause(Tries& tries) {
  if (tries.made++ < table_.missing()) return true;
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, tries.pause, [this] { return closing_; })) return false;
  tries.pause = std::min(tries.pause * 2, pace_.pause_max);
  return true;
}

// The main function of the thread that brings further streams.
void StreamSupervisor::fetch(FurtherStreams& further, milliseconds patience) {
  Tries tries{.pause = pace_.first_pause};
  for (;;) {
    if (further.connects()) {
      if (!wait_for_need(tries, patience) || !pause(tries)) return;
    }
    // A number is never used twice, even after a failed try, because the other side may know it.
    auto stream = next_stream_ < kStreamNumbersMax ? further.next(next_stream_++, left()) : std::nullopt;
    const std::lock_guard lock(mutex_);
    if (closing_ || next_stream_ >= kStreamNumbersMax) return;
    if (stream && table_.add(stream->stream)) {
      start(stream->stream, stream->maker);
    } else if (!stream && !further.connects()) {
      return;
    }
  }
}

}  // namespace rdcp::tree
