// The target's slot loop: one thread, one ring, one stream, and a coroutine for each slot.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/ring.h"
#include "io/step.h"
#include "net/stream/stream.h"
#include "tree/archive/archive.h"
#include "tree/mirror/comparer.h"
#include "tree/mirror/pruner.h"
#include "tree/pages/probe.h"
#include "tree/resume/own_lock.h"
#include "tree/streams/worker.h"
#include "tree/target/checked_archive.h"
#include "tree/target/read_back.h"
#include "tree/target/reply_cache.h"
#include "tree/target/target.h"
#include "tree/target/target_tree.h"

namespace rdcp::tree {

class TargetWorker {
 public:
  TargetWorker(Target& target, std::size_t index, const net::StreamShape& shape);
  // Until the source ends the stream, it is lost, or the run is over (reported where it failed here).
  void run(const StreamMaker& make_stream);
  // After run().
  bool has_put() const { return tree_ != nullptr && tree_->has_put(); }
  bool met_no_locks() const { return tree_ != nullptr && tree_->met_no_locks(); }

 private:
  io::Task slot_loop(io::Arena& arena);
  std::span<const std::byte> payload_of(const net::Frame& frame, std::span<const std::byte> slot,
                                        std::vector<std::byte>& own) const;
  void look_around();
  void look_for_reader();
  void answer(const net::Frame& frame, net::AckStatus status, const net::Verdicts& verdicts = {});
  bool is_agreed(const net::Frame& frame);
  io::Result<bool> next_entry(ArchiveReader& reader, Entry& entry) const;
  std::optional<CachedReply> answer_again(const net::Frame& frame);
  bool give_up(std::uint64_t stream);
  net::AckStatus unpack(std::span<const std::byte> chunk);
  net::AckStatus compare(const net::Frame& frame, std::span<const std::byte> page, net::Verdicts& verdicts);
  net::AckStatus prune(const net::Frame& frame, std::span<const std::byte> page, net::Verdicts& verdicts);
  bool write_some(CheckedArchive& archive);
  net::AckStatus name_written(CheckedArchive& archive);
  io::Result<void> put_without_content(Entry& entry);
  io::Result<void> put_entry();
  io::Result<void> write_small_in_place();
  int write_in_order(std::span<const std::byte> bytes) const;
  int write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;
  net::AckStatus open_file(const net::Frame& frame, std::span<const std::byte> header);
  io::Result<void> open_place(TargetFile& file, const Entry& entry, const net::Frame& frame);
  io::Result<bool> open_overwritten(TargetFile& file);
  io::Result<void> lock_overwritten(const TargetFile& file);
  std::unique_ptr<BasisFile> find_old(const TargetFile& file, const Entry& entry);
  io::Fd find_like(const TargetFile& file, const Entry& entry);
  net::AckStatus open_to_compare(TargetFile& file, const Entry& entry);
  io::Result<void> keep_equal(const TargetFile& file, const Entry& entry, std::uint64_t size);
  io::Step<net::AckStatus> probe(const net::Frame& frame, std::span<const std::byte> payload,
                                 std::span<std::byte> room, net::Verdicts& verdicts);
  // Blocks of a probe that are compared at once, and what is said of them.
  struct ProbedBlocks {
    const Probe& probe;
    net::Verdicts& verdicts;
    std::uint64_t offset;  // of the probe, in the file
    std::size_t first;
    std::size_t behind;
  };
  io::Step<net::AckStatus> probe_blocks(const net::Frame& frame, const Probe& probe, TargetFileRef file,
                                        std::span<std::byte> room, net::Verdicts& verdicts);
  void compare(const Probe& probe, const TargetFile& file, std::size_t first,
               std::span<const std::byte> bytes, net::Verdicts& verdicts);
  io::Step<bool> take_over(TargetFile& file, const ProbedBlocks& blocks, std::span<std::byte> bytes);
  io::Step<net::AckStatus> probe_chunks(const net::Frame& frame, const Probe& probe, TargetFileRef file,
                                        std::span<std::byte> room, net::Verdicts& verdicts);
  io::Step<net::AckStatus> take_chunks(TargetFile& file, const Probe& probe, std::uint64_t offset,
                                       std::span<std::byte> room, net::Verdicts& verdicts);
  io::Step<bool> make_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room);
  io::Step<bool> fill_index(TargetFile& file, std::uint64_t average, std::span<std::byte> room);
  io::Step<net::AckStatus> take_chunk(TargetFile& file, std::uint64_t from, const io::Extent& to,
                                      const io::Digest& digest, std::span<std::byte> room);
  io::Step<net::AckStatus> ask(const net::Frame& frame, std::span<std::byte> slot, net::Verdicts& verdicts);
  bool has_part(TargetFile& file) const;
  TargetFileRef find_for_span(const net::Frame& frame, const Probe& probe);
  net::AckStatus copy_range(const net::Frame& frame);
  net::AckStatus commit(const net::Frame& frame, std::span<const std::byte> header);
  io::Result<void> put_in_place(TargetFile& file, const Entry& entry, std::uint64_t size);
  // Checks a data chunk against its file. Null: the run is over.
  TargetFileRef find_for_data(const net::Frame& frame);
  net::AckStatus written(TargetFile& file, const net::Frame& frame, const io::IoResult& result,
                         std::size_t wanted);
  void drop_part(TargetFile& file);
  bool failed_to_write(TargetFile& file, const io::IoResult& result, std::size_t wanted);
  void next_turn();
  io::RingFile read_back_of(TargetFile& file);
  io::Step<bool> read_back_blocks(TargetFile& file, const ProbedBlocks& blocks, std::span<std::byte> room);
  // What lies beside an extent in the pages that it begins and ends in.
  struct PageRests {
    io::Digest before;
    io::Digest behind;
  };
  io::Step<PageRests> rests_on_disk(TargetFile& file, io::Extent extent, std::span<std::byte> room);
  io::Step<io::Digest> digest_on_disk(io::RingFile disk, io::Extent extent, std::span<std::byte> room);
  io::Step<bool> read_back_chunks(TargetFile& file, const Probe& probe, std::uint64_t offset,
                                  const PageRests& before, std::span<std::byte> room,
                                  net::Verdicts& verdicts);
  net::AckStatus found(TargetFile& file, const net::Frame& frame, const io::IoResult& read,
                       std::span<const std::byte> bytes);
  bool read_header(std::span<const std::byte> header, Entry& entry);
  // Reports what went wrong with one entry or file; what would go wrong for all that follow (a full or
  // read-only filesystem, a peer that breaks the protocol) ends the run.
  void report(const io::Error& error);
  void fail(const io::Error& error);
  void lose_stream(const io::Error& error);
  bool giving_up() const { return target_.stopped() || target_.refusing(); }
  // A slot that waits for something gives up when this is false.
  bool may_wait() const { return !giving_up() && !stream_->why_shut(); }
  void protocol_error(std::string_view what);

  Target& target_;
  const std::size_t index_;  // of the stream
  const net::StreamShape shape_;
  std::unique_ptr<io::Ring> ring_;
  std::unique_ptr<net::Stream> stream_;
  std::unique_ptr<RegisteredFiles> files_;
  std::unique_ptr<io::WaitList> turns_;  // of ordered files, and of those who wait for a lost stream's worker
  std::unique_ptr<TargetTree> tree_;
  std::unique_ptr<Comparer> comparer_;  // sync
  std::unique_ptr<Pruner> pruner_;
  std::unique_ptr<ReadBack> read_back_;  // of --verify; none where it is written in place
  LockPatience lock_patience_;
  ArchiveReader reader_;
  Entry entry_;
  StageTimes times_;
  std::vector<std::optional<CachedReply>> answered_;  // by slot: the last one, which may not have been heard
  std::uint64_t seen_changes_ = 0;
  io::Clock::time_point next_reader_look_;
  bool others_end_ = false;  // a stream has ended, so this one's end is near
  bool stream_lost_ = false;
  bool carried_ = false;  // a chunk went over the stream
};

}  // namespace rdcp::tree
