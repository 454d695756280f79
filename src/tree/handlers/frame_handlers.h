// Hands each frame to the handler for its kind.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "io/step.h"
#include "tree/handlers/file_committer.h"
#include "tree/handlers/file_opener.h"
#include "tree/handlers/file_writer.h"
#include "tree/handlers/mirror_pages.h"
#include "tree/handlers/probes.h"
#include "tree/handlers/small_files.h"
#include "tree/handlers/verified_archive.h"
#include "tree/session/target_context.h"

namespace rdcp::tree {

// The handlers of one worker, for its thread.
class FrameHandlers {
 public:
  // context: outlives this.
  explicit FrameHandlers(TargetContext& context);

  // A coroutine that takes slots keeps one of these from frame to frame.
  struct Slot {
    explicit Slot(FrameHandlers& handlers);
    std::span<std::byte> memory;             // of the slot in which the frame's payload came
    std::optional<VerifiedArchive> archive;  // with --verify
    net::Verdicts verdicts;                  // of the answer
  };

  // Does what a frame says, which was agreed on and whose payload is whole, and returns its answer. Not for
  // the frames that are about streams (lost, end, credit).
  io::Step<net::AckStatus> handle(const net::Frame& frame, std::span<const std::byte> payload, Slot& slot);
  // Undoes what the frame of this reply has changed, before it is handled again.
  void take_back(const CachedReply& reply);

 private:
  TargetContext& context_;
  SmallFiles small_files_;
  std::optional<MirrorPages> mirror_;  // where the job is a sync
  FileReadBack read_back_;
  FileWriter writer_;
  FileOpener opener_;
  FileCommitter committer_;
  Probes probes_;
};

}  // namespace rdcp::tree
