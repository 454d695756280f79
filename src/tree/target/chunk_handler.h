// Does with each chunk what its frame says, here and at the targets behind this one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/step.h"
#include "tree/handlers/frame_handlers.h"
#include "tree/session/target_context.h"
#include "tree/streams/passed_chunk.h"

namespace rdcp::tree {

// A target's place among several of one source.
struct ChainPlace {
  bool member = false;
  std::vector<NextTargets*> next;  // whom it passes on to; nobody: it is a last one
};

// The handler of one worker, for its thread.
class ChunkHandler {
 public:
  // context: outlives this.
  ChunkHandler(TargetContext& context, const ChainPlace& chain)
      : context_(context), chain_(chain), handlers_(context) {}
  // To be called once the context has its ring, before a Slot is made.
  void start();

  // A coroutine that takes slots keeps one of these from chunk to chunk.
  struct Slot {
    explicit Slot(ChunkHandler& handler);
    FrameHandlers::Slot own;
    std::optional<PassedChunk> passed;  // where chunks are passed on
  };

  // Takes a chunk that is whole, and whose frame the job agreed on; returns its answer.
  io::Step<ChunkAnswer> handle(const net::Frame& frame, std::span<const std::byte> payload, Slot& slot);
  // Undoes what the frame of this reply has changed, before it is handled again.
  void take_back(const CachedReply& reply) { handlers_.take_back(reply); }
  // To be called after each round of the ring: wakes the slots whose chunks were answered.
  void look_around();
  // To be called if the ring has broken: blocks until nothing of this worker is under way to other targets.
  void abandon();

 private:
  io::Step<ChunkAnswer> handle_here(const net::Frame& frame, std::span<const std::byte> payload,
                                    FrameHandlers::Slot& slot);
  io::Step<ChunkAnswer> handle_and_pass_on(const net::Frame& frame, std::span<const std::byte> payload,
                                           Slot& slot);
  bool is_for_others(const net::Frame& frame);

  TargetContext& context_;
  const ChainPlace chain_;
  FrameHandlers handlers_;
  std::unique_ptr<AnswerDesk> desk_;  // where chunks are passed on
};

}  // namespace rdcp::tree
