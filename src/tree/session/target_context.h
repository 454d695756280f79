// The state that the handlers of one target worker share.
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
  // Whether a slot may go on waiting; it gives up when this is false.
  bool may_wait() const { return !giving_up() && !stream->why_shut(); }

  // These do what TargetSession::fail() and report() do, and wake the slots of this worker that wait.
  void fail(const io::Error& error);
  void report(const io::Error& error);
  void protocol_error(std::string_view what);
  // These note that the source is told that something is missing here. They end the run if it has asked about
  // far more than it sends.
  void want(TargetFile& file, const io::Extent& extent);
  void want(io::DigestSet& wanted, std::string_view path);
  // Wakes the slots of all workers that wait for a turn.
  void wake_waiting();
  // Returns the answer to a frame that was handled without an error: refused if the run has failed meanwhile,
  // else done.
  net::AckStatus done_unless_refusing() const {
    return session.refusing() ? net::AckStatus::refused : net::AckStatus::done;
  }

  // Returns the answer to an archive. What could not be put has been reported, so it matters to a source only
  // if that removes what was put.
  net::AckStatus answer_of(bool all_put) {
    const bool counts = !session.job.wishes.strict || (all_put && has_put_for_good());
    return counts ? done_unless_refusing() : net::AckStatus::refused;
  }
  // Error: the target takes the name for another one that this run has used. `tree` asks this for all that it
  // puts; who writes to an old file, or finds one equal, asks here.
  io::Result<void> claim(EntryPathView path) const;
  // To be asked before a hard link is put. Error: its first name is not what the source means.
  io::Result<void> may_link(const Entry& link) const;
  // Flushes the names that were given, if the source removes what was put. Returns false after an error,
  // which has been reported: then it must not.
  bool has_put_for_good();

  // Reads an archive's next entry. Returns false at the archive's end, and an error if the job did not agree
  // on such entries.
  io::Result<bool> next_entry(ArchiveReader& reader, Entry& entry) const;
  // Reads the one entry of an open or commit frame. Returns false after a protocol error, which is reported.
  bool read_header(ArchiveReader& reader, std::span<const std::byte> header, Entry& entry);

 private:
  io::Result<void> stays_unlinked(EntryPathView path) const;
};

}  // namespace rdcp::tree
