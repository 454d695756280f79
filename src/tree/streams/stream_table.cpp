#include "tree/streams/stream_table.h"

#include <algorithm>

#include "net/stream/stream.h"
#include "tree/messages/job.h"

namespace rdcp::tree {

namespace {

// A stream that lives this long without carrying anything is not broken: there was nothing to carry.
constexpr std::chrono::seconds kIdle = 2 * net::kUnreachableMax;

}  // namespace

void StreamTable::begin(std::size_t count, bool may_come_back) {
  const std::lock_guard lock(mutex_);
  streams_.assign(count, Stream());
  count_ = count;
  wanted_ = count;
  may_come_back_ = may_come_back;
  begun_ = true;
  for (const std::size_t stream : early_) {
    if (stream >= count && !may_come_back) continue;
    make_room_for(stream);
    streams_[stream].given_up = true;
  }
}

bool StreamTable::add(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  if (stream < count_ || stream >= kStreamNumbersMax || living_now() >= most()) return false;
  make_room_for(stream);
  Stream& added = streams_[stream];
  if (added.known || added.given_up) return false;
  added = Stream();
  return true;
}

// To be called with the mutex held. Streams that have not come count as lost, and have no worker that must
// leave.
void StreamTable::make_room_for(std::size_t stream) {
  while (streams_.size() <= stream) {
    Stream missing;
    missing.state = State::lost;
    missing.known = false;
    missing.left = true;
    streams_.push_back(missing);
  }
}

// To be called with the mutex held, as all_lost().
std::size_t StreamTable::living_now() const {
  return static_cast<std::size_t>(std::ranges::count(streams_, State::living, &Stream::state));
}

std::size_t StreamTable::living() const {
  const std::lock_guard lock(mutex_);
  return living_now();
}

bool StreamTable::all_lost() const {
  return std::ranges::all_of(streams_, [](const Stream& other) { return other.state == State::lost; });
}

std::size_t StreamTable::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void StreamTable::use(std::size_t streams) {
  const std::lock_guard lock(mutex_);
  const std::size_t wanted = std::clamp(streams, count_, most());
  if (wanted > wanted_) ++raised_;
  wanted_ = wanted;
  if (first_end_) return;
  std::size_t resting_from = kNoneRests;
  std::size_t used = 0;
  for (std::size_t i = 0; i < streams_.size() && resting_from == kNoneRests; ++i) {
    if (streams_[i].state == State::living && used++ == wanted) resting_from = i;
  }
  resting_from_ = resting_from;
  wake_workers();
}

std::size_t StreamTable::missing() const {
  const std::lock_guard lock(mutex_);
  return first_end_ ? 0 : wanted_ - std::min(living_now(), wanted_);
}

std::size_t StreamTable::needs() const {
  const std::lock_guard lock(mutex_);
  return lost_.size() + raised_;
}

bool StreamTable::last_carried() const {
  const std::lock_guard lock(mutex_);
  std::size_t last = streams_.size();
  while (last > count_ && !streams_[last - 1].known) --last;
  return last > count_ ? !streams_[last - 1].in_vain : std::ranges::any_of(streams_, &Stream::carried);
}

bool StreamTable::gone_for(std::chrono::milliseconds time) const {
  const std::lock_guard lock(mutex_);
  return all_lost() && (!may_come_back_ || io::Clock::now() - lost_since_ >= time);
}

bool StreamTable::connected() const {
  const std::lock_guard lock(mutex_);
  return begun_ && !all_lost();
}

std::optional<io::Error> StreamTable::last_loss() const {
  const std::lock_guard lock(mutex_);
  return last_loss_;
}

void StreamTable::end(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  streams_[stream].state = State::ended;
  resting_from_ = kNoneRests;
  if (!first_end_) first_end_ = io::Clock::now();
  wake_workers();
}

bool StreamTable::lose(std::size_t stream, const std::string& description, const io::Error& cause,
                       bool carried) {
  const bool known_there = given_up(stream);
  const bool goes_on = note_loss(stream, description, cause, carried);
  if (goes_on && !known_there && tell_) tell_(stream);
  return goes_on;
}

bool StreamTable::note_loss(std::size_t stream, const std::string& description, const io::Error& cause,
                            bool carried) {
  const std::lock_guard lock(mutex_);
  Stream& lost = streams_[stream];
  lost.state = State::lost;
  lost.carried = carried;
  lost.in_vain = stream >= count_ && !carried && io::Clock::now() - lost.since < kIdle;
  resting_from_ = kNoneRests;
  if (lost.in_vain) return true;
  last_loss_ = cause;
  lost_since_ = io::Clock::now();
  if (needs_all_ || (all_lost() && !may_come_back_)) return false;
  lost_.push_back("stream " + std::to_string(stream + 1) + " (" + description +
                  ") was lost: " + cause.message());
  return true;
}

bool StreamTable::in_vain(std::size_t stream) const {
  const std::lock_guard lock(mutex_);
  return stream >= streams_.size() || !streams_[stream].known || streams_[stream].in_vain;
}

bool StreamTable::any_ended() const {
  const std::lock_guard lock(mutex_);
  return first_end_.has_value();
}

// Which stream has taken the place of which is not known, only how many are left.
std::vector<std::string> StreamTable::lost() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines = lost_;
  const auto left = static_cast<std::size_t>(
      std::ranges::count_if(streams_, [](const Stream& stream) { return stream.state != State::lost; }));
  const std::size_t lacking = count_ - std::min(left, count_);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] +=
        i + lacking < lines.size() ? "; another one took its place" : "; its chunks went over the others";
  }
  return lines;
}

bool StreamTable::give_up(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  if (stream >= kStreamNumbersMax) return false;
  if (!begun_) {
    if (early_.size() == kStreamNumbersMax) return false;
    early_.push_back(stream);
    return true;
  }
  if (!may_come_back_ && stream >= streams_.size()) return false;
  make_room_for(stream);
  streams_[stream].given_up = true;
  wake_workers();
  return true;
}

bool StreamTable::given_up(std::size_t stream) const {
  const std::lock_guard lock(mutex_);
  return streams_[stream].given_up;
}

bool StreamTable::any_given_up() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(streams_, &Stream::given_up);
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

void StreamTable::wake_others(std::size_t stream) {
  const std::lock_guard lock(mutex_);
  changes_.fetch_add(1, std::memory_order_release);
  for (std::size_t other = 0; other < streams_.size(); ++other) {
    if (other != stream && streams_[other].ring != nullptr) streams_[other].ring->wake();
  }
}

void StreamTable::subscribe(std::size_t stream, io::Ring* ring) {
  const std::lock_guard lock(mutex_);
  streams_[stream].ring = ring;
}

// To be called with the mutex held.
void StreamTable::wake_workers() {
  changes_.fetch_add(1, std::memory_order_release);
  for (const Stream& stream : streams_) {
    if (stream.ring != nullptr) stream.ring->wake();
  }
}

}  // namespace rdcp::tree
