#include "tree/crew.h"

#include <algorithm>
#include <utility>

namespace rdcp::tree {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How often it is looked whether the run was stopped, or a stream lost.
constexpr milliseconds kLookUp{50};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kPauseMax{5000};
// The side that waits learns of a loss before or after the side that connects.
constexpr std::chrono::seconds kGrace{5};

}  // namespace

std::optional<io::Error> Crew::run(const std::vector<StreamMaker>& streams, FurtherStreams* further,
                                   std::chrono::seconds patience) {
  if (further == nullptr) patience = std::chrono::seconds(0);
  table_.begin(streams.size(), patience > std::chrono::seconds(0));
  next_stream_ = streams.size();
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < streams.size(); ++i) start(i, streams[i]);
  }
  std::thread fetching;
  if (patience > std::chrono::seconds(0)) fetching = std::thread([&] { fetch(*further, patience); });
  const std::chrono::seconds until_gone =
      fetching.joinable() && !further->connects() ? patience + kGrace : patience;
  {
    std::unique_lock lock(mutex_);
    while (!finished(until_gone)) changed_.wait_for(lock, kLookUp);
    closing_ = true;
  }
  changed_.notify_all();
  if (fetching.joinable()) {
    further->stop();
    fetching.join();
  }
  for (std::thread& thread : threads_) thread.join();
  const bool hopeless = !table_.any_ended() && !over_();
  return hopeless ? table_.last_loss() : std::nullopt;
}

// With the mutex held.
bool Crew::finished(std::chrono::seconds patience) const {
  if (running_ > 0) return false;
  return over_() || table_.any_ended() || table_.gone_for(patience);
}

// With the mutex held.
void Crew::start(std::size_t stream, const StreamMaker& maker) {
  ++running_;
  threads_.emplace_back([this, stream, maker] {
    work_(stream, maker);
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  });
}

// Waits until a stream is missing, and has not been tried for in vain for too long while others do without
// it. since: when the trying began. False: the run is over.
bool Crew::wait_for_need(SteadyClock::time_point& since, std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closing_ || over_()) return false;
    const bool needed = table_.missing() > 0;
    if (needed && SteadyClock::now() - since <= patience) return true;
    if (!needed || table_.gone_for(std::chrono::seconds(0))) since = SteadyClock::now();
    if (!needed || SteadyClock::now() - since > patience) changed_.wait_for(lock, kLookUp);
  }
}

// The life of the thread that brings further streams.
void Crew::fetch(FurtherStreams& further, std::chrono::seconds patience) {
  auto since = SteadyClock::now();
  milliseconds pause = kFirstPause;
  for (;;) {
    if (further.connects()) {
      if (!wait_for_need(since, patience)) return;
    }
    // A number is never used twice, whatever became of the try: the other side may know of it.
    auto stream = next_stream_ < StreamTable::kStreamNumbersMax ? further.next(next_stream_++) : std::nullopt;
    std::unique_lock lock(mutex_);
    if (closing_ || next_stream_ >= StreamTable::kStreamNumbersMax) return;
    if (stream && table_.add(stream->stream)) {
      start(stream->stream, stream->maker);
      pause = kFirstPause;
      since = SteadyClock::now();
    } else if (further.connects()) {
      changed_.wait_for(lock, pause, [this] { return closing_; });
      pause = std::min(pause * 2, kPauseMax);
    } else if (!stream) {
      return;
    }
  }
}

}  // namespace rdcp::tree
