// Tasks work with these: the content of a slot, the ways to fill it, and the tools of their worker.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "io/ring.h"
#include "io/step.h"
#include "net/stream/frame.h"
#include "tree/plan/task.h"
#include "tree/source/compare_requester.h"
#include "tree/source/packer.h"
#include "tree/source/source_remover.h"
#include "tree/source/source_session.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// The content of a slot, ready to be sent.
struct FilledSlot {
  // nothing: there was nothing to send. failed: there is nothing to send because of an error, now reported.
  enum class State : std::uint8_t { ready, nothing, failed };
  FilledSlot() = default;
  explicit FilledSlot(State state) : state(state) {}
  explicit FilledSlot(const net::Frame& frame, std::size_t length = 0)
      : frame(frame), length(length), moves(length) {}
  bool is_ready() const { return state == State::ready; }
  std::span<const std::byte> payload(std::span<const std::byte> slot) const {
    return {elsewhere != nullptr ? elsewhere : slot.data(), length};
  }

  net::Frame frame;
  std::size_t length = 0;                // bytes of payload
  const std::byte* elsewhere = nullptr;  // where the payload is, if not in the slot
  std::uint64_t moves = 0;  // bytes that --bwlimit counts: with copy_range the kernel moves more than is sent
  Packed packed;            // counted when the target has it
  State state = State::ready;
  // If the chunk is damaged on the way, its payload is read anew; else it is sent again with the same digest.
  bool read_anew = false;
};

// The target's answer to a filled slot.
struct SlotAnswer {
  const FilledSlot& filled;
  std::span<const std::byte> slot;  // still as it was sent
  net::AckStatus status = net::AckStatus::refused;
  const net::Verdicts& verdicts;
  bool is_done() const { return filled.is_ready() && status == net::AckStatus::done; }
  // Whether the target did not take it, or something failed here.
  bool is_failure() const { return !is_done() && filled.state != FilledSlot::State::nothing; }
};

// True if a stream that carries at most so many bytes a second is known to carry less than a page cache takes
// from one writer, about 2.5 GB/s.
inline bool is_slower_than_a_writer(std::optional<double> rate_max) {
  constexpr double kBytesPerSecondOfWriter = 2.5e9;
  return rate_max && *rate_max < kBytesPerSecondOfWriter;  // an empty optional would be less than any number
}

// The tools that a worker has for its tasks. Not thread-safe.
struct TaskContext {
  // Both outlive this, or files.detach() is called before the ring is destroyed.
  TaskContext(SourceSession& session, io::Ring& ring)
      : session(session),
        ring(ring),
        files(ring),
        packer(session.plan(), session.terms().small_file_max, session.settings().sync, session.reading()),
        requester(session.plan(), session.settings().sync, session.digest_max(), session.reading()),
        remover(session.removes(), session.reporter()) {
    if (session.sums() != nullptr) packer.want_sums();
    if (session.removes()) packer.want_whole();
  }

  SourceSession& session;
  io::Ring& ring;
  RegisteredFiles files;
  Packer packer;
  CompareRequester requester;
  SourceRemover remover;
  StageTimes times;
  bool sends_from_arena = false;    // payloads must lie in the worker's slots
  bool needs_all_streams = false;   // one stream carries less than one writer writes
  std::uint32_t endless_reads = 0;  // reads under way of files without a size, which may take any time
};

// Returns a FilledSlot whose frame has the digest of the payload in slot.
FilledSlot with_digest(net::Frame frame, std::span<const std::byte> slot, std::size_t length,
                       TaskContext& context);

// A read of an extent into a slot.
class DataRead {
 public:
  DataRead(DataTask& task, std::span<std::byte> slot, TaskContext& context);
  io::Operation& operation() { return operation_; }
  FilledSlot finish();

 private:
  DataTask& task_;
  const std::span<std::byte> slot_;
  TaskContext& context_;
  const io::Clock::time_point begun_ = io::Clock::now();
  io::RingFile place_;
  const RegisteredFiles::Use use_;
  io::Operation operation_;
};

// A slot being filled: at once, by one read, or in several steps. It is a named variable that is awaited
// once; only the several steps allocate memory.
class Filling {
 public:
  Filling(FilledSlot filled) : way_(std::move(filled)) {}
  Filling(io::Step<FilledSlot> steps) : way_(std::move(steps)) {}
  Filling(DataTask& task, std::span<std::byte> slot, TaskContext& context)
      : way_(std::in_place_type<DataRead>, task, slot, context) {}

  bool await_ready() {
    DataRead* read = std::get_if<DataRead>(&way_);
    return read != nullptr ? read->operation().await_ready() : std::holds_alternative<FilledSlot>(way_);
  }
  bool await_suspend(std::coroutine_handle<> waiter) {
    DataRead* read = std::get_if<DataRead>(&way_);
    if (read == nullptr) return std::get<io::Step<FilledSlot>>(way_).await_suspend(waiter);
    read->operation().await_suspend(waiter);
    return true;
  }
  FilledSlot await_resume() {
    if (DataRead* read = std::get_if<DataRead>(&way_)) return read->finish();
    if (auto* steps = std::get_if<io::Step<FilledSlot>>(&way_)) return steps->await_resume();
    return std::move(std::get<FilledSlot>(way_));
  }

 private:
  std::variant<FilledSlot, io::Step<FilledSlot>, DataRead> way_;
};

}  // namespace rdcp::tree
