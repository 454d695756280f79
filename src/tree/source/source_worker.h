// A worker of the source: one thread, one ring, one stream, and as many coroutines as chunks are under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/ring.h"
#include "net/stream/stream.h"
#include "tree/source/source_session.h"
#include "tree/source/task_context.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

class SourceWorker {
 public:
  SourceWorker(SourceSession& session, std::size_t index);
  // Runs until the plan has nothing more, the run is stopped, something fails here (it is reported), or the
  // stream is lost.
  void run(const StreamMaker& make_stream);

 private:
  bool set_up(const StreamMaker& make_stream);
  io::Result<void> drive_slots();
  bool look_around(std::uint64_t& changes, std::uint64_t& stream_changes);
  void cut_if_stopped();
  bool is_last_to_end();
  void tell_totals();
  io::Task slot_loop(std::span<std::byte> slot, Plan::Kind kind);
  net::Frame end_frame() const;
  bool rests() const;
  std::uint64_t& idle_time();
  std::optional<net::Sha256> note_sending(const FilledSlot& filled, std::span<const std::byte> slot);
  void note_answer(const FilledSlot& filled, const std::optional<net::Sha256>& sent, net::AckStatus status);
  // Settles the task, and returns the task that follows in the same slot, if there is one.
  std::optional<Task> settle_work(Task& task, const SlotAnswer& answer);
  void lose_stream(const io::Error& error);
  void give_back(Work work, const FilledSlot& filled, std::span<const std::byte> slot);

  SourceSession& session_;
  const std::size_t index_;  // the stream's number
  const std::uint32_t depth_;
  // The ring and the stream are destroyed before the coroutines and the arena: if the ring broke, the kernel
  // and a peer in this process may still use those.
  std::optional<io::Arena> arena_;
  std::vector<io::Task> slots_;
  std::unique_ptr<io::Ring> ring_;
  std::unique_ptr<io::WaitList> idle_;
  std::unique_ptr<net::Stream> stream_;
  std::optional<TaskContext> context_;
  std::uint32_t running_slots_ = 0;
  std::uint64_t not_counted_ns_ = 0;
  bool stream_lost_ = false;
  bool carried_ = false;  // a chunk went over the stream
};

}  // namespace rdcp::tree
