// The target's slot loop: one thread, one ring, one stream, and a coroutine for each slot.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/step.h"
#include "tree/session/target_context.h"
#include "tree/target/chunk_handler.h"

namespace rdcp::tree {

class TargetWorker {
 public:
  // session: outlives this.
  TargetWorker(TargetSession& session, std::size_t index, const net::StreamShape& shape,
               const ChainPlace& chain);
  // Runs until the source ends the stream, the stream is lost, or the run is over (reported where it failed
  // here).
  void run(const StreamMaker& make_stream);

 private:
  io::Task slot_loop(io::Arena& arena);
  std::span<const std::byte> payload_of(const net::Frame& frame, std::span<const std::byte> slot,
                                        std::vector<std::byte>& copy) const;
  net::AckStatus check(const net::Frame& frame, std::span<const std::byte> payload);
  bool is_agreed(const net::Frame& frame);
  std::optional<CachedReply> answer_again(const net::Frame& frame);
  io::Step<net::AckStatus> hear_of_loss(std::uint64_t stream);
  void answer(const net::Frame& frame, const ChunkAnswer& answer);

  void start(const StreamMaker& make_stream, io::Arena& arena);
  void look_around();
  void look_for_reader();
  void lose_stream(const io::Error& error);
  void tell_tally();

  TargetContext context_;
  ChunkHandler chunks_;
  std::unique_ptr<AnswerDesk> desk_;                  // where chunks are passed on
  std::vector<std::optional<CachedReply>> answered_;  // by slot: the last one, which may not have been heard
  std::uint64_t seen_changes_ = 0;
  io::Clock::time_point next_reader_look_;
  bool others_end_ = false;  // a stream has ended, so this one's end is near
  bool stream_lost_ = false;
  bool carried_ = false;  // a chunk went over the stream
};

}  // namespace rdcp::tree
