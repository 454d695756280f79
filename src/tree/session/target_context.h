// What the handlers of one worker of a target share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "io/ring.h"
#include "net/stream/stream.h"
#include "tree/archive/archive.h"
#include "tree/session/read_back.h"
#include "tree/session/target_session.h"
#include "tree/session/target_tree.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

// Belongs to the worker's thread; only `session` is shared with others.
class TargetContext {
 public:
  TargetContext(TargetSession& session, std::size_t index, const net::StreamShape& shape);

  TargetSession& session;
  const std::size_t index;  // the stream's number
  const net::StreamShape shape;
  std::unique_ptr<io::Ring> ring;
  std::unique_ptr<net::Stream> stream;
  std::unique_ptr<RegisteredFiles> files;
  std::unique_ptr<io::WaitList> turns;  // slots that wait for what another slot, stream or worker does
  std::unique_ptr<TargetTree> tree;     // null where DST itself is written
  std::unique_ptr<ReadBack> read_back;  // null without --verify, and where DST itself is written
  StageTimes times;

  const CopySettings& settings() const { return session.job.settings; }
  bool giving_up() const { return session.giving_up(); }
  // A slot that waits for something gives up when this is false.
  bool may_wait() const { return !giving_up() && !stream->why_shut(); }

  // As TargetSession::fail() and report(), and wakes the slots of this worker that wait.
  void fail(const io::Error& error);
  void report(const io::Error& error);
  void protocol_error(std::string_view what);
  // Wakes the slots of all workers that wait for a turn.
  void wake_waiting();
  // What a frame that took no exception is answered with: refused where the run has ended meanwhile.
  net::AckStatus done_unless_refusing() const {
    return session.refusing() ? net::AckStatus::refused : net::AckStatus::done;
  }

  // An archive's next entry, as long as the job agreed on entries like it; false at the archive's end.
  io::Result<bool> next_entry(ArchiveReader& reader, Entry& entry) const;
  // The one entry of an open or commit frame. False: protocol error, reported.
  bool read_header(ArchiveReader& reader, std::span<const std::byte> header, Entry& entry);
};

}  // namespace rdcp::tree
