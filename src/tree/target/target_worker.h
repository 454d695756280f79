// The target's slot loop: one thread, one ring, one stream, and a coroutine for each slot.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/step.h"
#include "tree/session/target_context.h"
#include "tree/target/file_committer.h"
#include "tree/target/file_opener.h"
#include "tree/target/file_writer.h"
#include "tree/target/mirror_pages.h"
#include "tree/target/probes.h"
#include "tree/target/small_files.h"
#include "tree/target/verified_archive.h"

namespace rdcp::tree {

class TargetWorker {
 public:
  // session: outlives this.
  TargetWorker(TargetSession& session, std::size_t index, const net::StreamShape& shape);
  // Runs until the source ends the stream, the stream is lost, or the run is over (reported where it failed
  // here).
  void run(const StreamMaker& make_stream);

 private:
  // A slot whose chunk has arrived, and what it is answered with.
  struct Slot {
    std::span<std::byte> memory;
    std::optional<VerifiedArchive> archive;  // with --verify
    std::vector<std::byte> copy;             // of the payload, where the source can still write to the slot
    net::Verdicts verdicts;
  };
  io::Task slot_loop(io::Arena& arena);
  std::span<const std::byte> payload_of(const net::Frame& frame, Slot& slot) const;
  net::AckStatus check(const net::Frame& frame, std::span<const std::byte> payload);
  bool is_agreed(const net::Frame& frame);
  std::optional<CachedReply> answer_again(const net::Frame& frame);
  io::Step<net::AckStatus> dispatch(const net::Frame& frame, std::span<const std::byte> payload, Slot& slot);
  io::Step<net::AckStatus> hear_of_loss(std::uint64_t stream);
  void answer(const net::Frame& frame, net::AckStatus status, const net::Verdicts& verdicts = {});

  void start(const StreamMaker& make_stream, io::Arena& arena);
  void look_around();
  void look_for_reader();
  void lose_stream(const io::Error& error);
  void tell_tally();

  TargetContext context_;
  SmallFiles small_files_;
  std::optional<MirrorPages> mirror_;  // where the job is a sync
  FileReadBack read_back_;
  FileWriter writer_;
  FileOpener opener_;
  FileCommitter committer_;
  Probes probes_;
  std::vector<std::optional<CachedReply>> answered_;  // by slot: the last one, which may not have been heard
  std::uint64_t seen_changes_ = 0;
  io::Clock::time_point next_reader_look_;
  bool others_end_ = false;  // a stream has ended, so this one's end is near
  bool stream_lost_ = false;
  bool carried_ = false;  // a chunk went over the stream
};

}  // namespace rdcp::tree
