#include "tree/streams/passed_chunk.h"

namespace rdcp::tree {

bool AnswerDesk::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, false);
}

void AnswerDesk::wait_for_all() {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return under_way_ == 0; });
}

void PassedChunk::begin(const net::Frame& frame, std::span<const std::byte> payload, std::size_t nexts,
                        bool copies) {
  frame_ = frame;
  payload_ = payload;
  if (copies) {
    copy_.assign(payload.begin(), payload.end());
    payload_ = copy_;
  }
  const std::lock_guard lock(desk_.mutex_);
  nexts_ = unanswered_ = nexts;
  answers_.clear();
  ++desk_.under_way_;
}

bool PassedChunk::is_answered() const {
  const std::lock_guard lock(desk_.mutex_);
  return unanswered_ == 0;
}

// The worker looks at its chunks behind the same mutex, so neither they nor its ring go before this returns.
void PassedChunk::take(const std::optional<ChunkAnswer>& answer) {
  AnswerDesk& desk = desk_;
  const std::lock_guard lock(desk.mutex_);
  if (answer) answers_.push_back(*answer);
  if (--unanswered_ > 0) return;
  desk.news_ = true;
  --desk.under_way_;
  desk.answered_.notify_all();
  desk.ring_.wake();
}

}  // namespace rdcp::tree
