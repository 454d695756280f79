// Chunks that a target passes on to the targets behind it, from the slot in which they came.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/ring.h"
#include "net/stream/frame.h"

namespace rdcp::tree {

// Says what became of a chunk.
struct ChunkAnswer {
  net::AckStatus status = net::AckStatus::done;
  net::Verdicts verdicts;
};

// Where answers reach a target worker: it holds one for all of its slots. Thread-safe. It outlives every
// chunk that waits for an answer.
class AnswerDesk {
 public:
  explicit AnswerDesk(io::Ring& ring) : ring_(ring) {}
  // Returns true if a chunk was answered since the last call.
  bool take_news();
  // Blocks until no chunk is under way.
  void wait_for_all();

 private:
  friend class PassedChunk;

  io::Ring& ring_;
  std::mutex mutex_;  // guards also the answers of the chunks
  std::condition_variable answered_;
  bool news_ = false;
  std::size_t under_way_ = 0;
};

// A chunk that is passed on to one target or several, and in the end what each has answered. It belongs to
// one slot of a worker, and stays where it is. While it is under way its payload must not change.
class PassedChunk {
 public:
  explicit PassedChunk(AnswerDesk& desk) : desk_(desk) {}
  PassedChunk(const PassedChunk&) = delete;
  PassedChunk& operator=(const PassedChunk&) = delete;

  // Takes the next chunk. nexts: how many targets it is passed on to, at least one. copies: the slot's memory
  // is about to be used for other things, so the payload is kept here.
  void begin(const net::Frame& frame, std::span<const std::byte> payload, std::size_t nexts, bool copies);
  const net::Frame& frame() const { return frame_; }
  std::span<const std::byte> payload() const { return payload_; }

  bool is_answered() const;
  // After is_answered(): the answers, in any order, of those that still have somebody behind them.
  std::span<const ChunkAnswer> answers() const { return answers_; }
  // After is_answered(): one of them has nobody any more.
  bool lacks_answer() const { return answers_.size() < nexts_; }

  // Any thread, once for each target that the chunk was passed on to. nothing: nobody is there any more. The
  // chunk may be gone when this returns.
  void take(const std::optional<ChunkAnswer>& answer);

 private:
  AnswerDesk& desk_;
  net::Frame frame_;
  std::span<const std::byte> payload_;
  std::vector<std::byte> copy_;
  std::size_t nexts_ = 0;
  std::size_t unanswered_ = 0;
  std::vector<ChunkAnswer> answers_;
};

// The right and the duty to answer a chunk for one target that it was passed on to. Whoever drops it says
// that nobody is there any more.
class PassedChunkRef {
 public:
  explicit PassedChunkRef(PassedChunk& chunk) : chunk_(&chunk) {}
  PassedChunkRef(PassedChunkRef&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  PassedChunkRef& operator=(PassedChunkRef&& other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~PassedChunkRef() {
    if (chunk_ != nullptr) chunk_->take(std::nullopt);
  }

  const PassedChunk& operator*() const { return *chunk_; }
  const PassedChunk* operator->() const { return chunk_; }
  void answer(const ChunkAnswer& answer) { std::exchange(chunk_, nullptr)->take(answer); }

 private:
  PassedChunk* chunk_;
};

// A target behind this one, and all that are behind that one.
class NextTargets {
 public:
  virtual ~NextTargets() = default;
  // Passes a chunk on, which is answered later. Any thread may call this.
  virtual void pass_on(PassedChunk& chunk) = 0;
  // Has every chunk answered soon: nothing is passed on any more. Any thread may call this.
  virtual void stop() = 0;
};

}  // namespace rdcp::tree
