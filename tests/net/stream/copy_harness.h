// Sources and targets that copy made-up chunks through a stream, as the tree layer's slot loops do.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "io/arena.h"
#include "io/digest.h"
#include "io/ring.h"
#include "io/task.h"
#include "net/stream/stream.h"

namespace rdcp::net {

inline Frame credit_frame(std::uint32_t slot, AckStatus status) {
  Frame frame;
  frame.kind = FrameKind::credit;
  frame.slot = slot;
  frame.status = status;
  return frame;
}

inline std::unique_ptr<io::Ring> test_ring(io::RingChoice choice = io::RingChoice::automatic) {
  auto ring = io::make_ring(choice, 32);
  return ring ? std::move(*ring) : nullptr;
}

// Runs the ring until `done`; false when that takes longer than any test should.
inline bool run_until(io::Ring& ring, const std::function<bool()>& done,
                      std::chrono::seconds limit = std::chrono::seconds(30)) {
  const auto until = io::Clock::now() + limit;
  while (!done()) {
    if (io::Clock::now() > until) return false;
    if (!ring.run_once(std::chrono::milliseconds(100))) return false;
  }
  return true;
}

// Different for each file id and at each place. Every other one can be compressed.
inline void fill_chunk(std::uint64_t file_id, std::span<std::byte> into) {
  std::uint64_t state = file_id * 0x9e3779b97f4a7c15 + 1;
  for (std::byte& b : into) {
    state = state * 6364136223846793005 + 1442695040888963407;
    b = static_cast<std::byte>(state >> (file_id % 2 == 0 ? 56 : 62));
  }
}

inline Frame data_frame(std::uint64_t file_id, std::uint32_t slot, std::span<const std::byte> payload) {
  Frame frame;
  frame.kind = FrameKind::data;
  frame.slot = slot;
  frame.length = static_cast<std::uint32_t>(payload.size());
  frame.file_id = file_id;
  frame.digest = io::digest_of(payload);
  return frame;
}

// What a side's slot loops share. Lengths are of the chunks to send; chunk i has file id i.
struct SourceSide {
  Stream& stream;
  std::vector<std::size_t> lengths;
  bool ends = true;            // send the end frame when all is acknowledged
  io::Arena* arena = nullptr;  // holds the payloads, a slot for each loop; none: they are anywhere
  std::size_t next = 0;
  std::size_t loops_alive = 0;
  std::vector<AckStatus> answers{};
  std::optional<io::Error> error{};
  std::vector<io::Task> tasks{};

  void start(std::size_t loops);
  bool finished() const { return loops_alive == 0 && stream.idle(); }
};

struct TargetSide {
  Stream& stream;
  io::Arena& arena;
  AckStatus answer = AckStatus::done;
  bool releases = true;
  std::size_t loops_alive = 0;
  std::size_t ends_seen = 0;
  std::vector<Frame> received{};
  std::size_t wrong = 0;  // chunks whose bytes are not those of their file id
  std::optional<io::Error> error{};
  std::vector<io::Task> tasks{};

  void start(std::size_t loops);
  bool finished() const { return loops_alive == 0 && stream.idle(); }
};

inline io::Task source_loop(SourceSide& side, std::size_t loop) {
  std::vector<std::byte> anywhere;
  while (!side.error && side.next < side.lengths.size()) {
    const std::size_t chunk = side.next++;
    const std::size_t length = side.lengths[chunk];
    if (side.arena == nullptr) anywhere.resize(length);
    const std::span<std::byte> buffer(side.arena == nullptr ? anywhere.data() : side.arena->slot(loop).data(),
                                      length);
    fill_chunk(chunk, buffer);
    const auto slot = co_await side.stream.credit();
    if (!slot) {
      side.error = slot.error();
      break;
    }
    const Frame frame = data_frame(chunk, *slot, buffer);
    const auto sent = co_await side.stream.send(frame, buffer);
    if (!sent) {
      side.error = sent.error();
      break;
    }
    std::ranges::fill(buffer, std::byte{0});  // it is ours again
    const auto answer = co_await side.stream.acknowledged(*slot);
    if (!answer) {
      side.error = answer.error();
      break;
    }
    side.answers.push_back(*answer);
  }
  if (side.loops_alive == 1 && side.ends && !side.error) {
    const auto sent = co_await side.stream.send(Frame{}, {});
    if (!sent) side.error = sent.error();
  }
  --side.loops_alive;
}

inline io::Task target_loop(TargetSide& side) {
  std::vector<std::byte> expected;
  while (true) {
    const auto frame = co_await side.stream.receive();
    if (!frame) {
      side.error = frame.error();
      break;
    }
    if (!*frame) {
      ++side.ends_seen;
      break;
    }
    const Frame& chunk = **frame;
    side.received.push_back(chunk);
    expected.resize(chunk.length);
    fill_chunk(chunk.file_id, expected);
    if (!std::ranges::equal(expected, side.arena.slot(chunk.slot).first(chunk.length))) ++side.wrong;
    if (side.releases) side.stream.release(chunk.slot, side.answer);
  }
  --side.loops_alive;
}

inline void SourceSide::start(std::size_t loops) {
  loops_alive = loops;
  for (std::size_t i = 0; i < loops; ++i) tasks.push_back(source_loop(*this, i));
  for (io::Task& task : tasks) task.start();
}

inline void TargetSide::start(std::size_t loops) {
  loops_alive = loops;
  for (std::size_t i = 0; i < loops; ++i) tasks.push_back(target_loop(*this));
  for (io::Task& task : tasks) task.start();
}

}  // namespace rdcp::net
