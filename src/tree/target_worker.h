// The target's slot loop: one thread, one ring, one stream, and a coroutine for each slot.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/arena.h"
#include "io/ring.h"
#include "net/stream.h"
#include "tree/archive.h"
#include "tree/target.h"
#include "tree/target_tree.h"
#include "tree/worker.h"

namespace rdcp::tree {

class TargetWorker {
 public:
  // index: of its stream.
  TargetWorker(Target& target, std::size_t index, const net::StreamShape& shape);
  // Until the source ends the stream or it fails. False: it failed, or the peer broke the protocol
  // (reported).
  bool run(const StreamMaker& make_stream);

 private:
  io::Task slot_loop(io::Arena& arena);
  net::AckStatus unpack(std::span<const std::byte> chunk);
  io::Result<void> put_entry();
  io::Result<void> write_small_in_place();
  net::AckStatus open_file(const net::Frame& frame, std::span<const std::byte> header);
  net::AckStatus copy_range(const net::Frame& frame);
  net::AckStatus commit(const net::Frame& frame, std::span<const std::byte> header);
  io::Result<void> put_in_place(TargetFile& file, const Entry& entry, std::uint64_t size);
  // Checks a data chunk against its file. Null: the run is over.
  TargetFileRef find_for_data(const net::Frame& frame);
  net::AckStatus written(TargetFile& file, const net::Frame& frame, const io::IoResult& result,
                         std::size_t wanted);
  bool read_header(std::span<const std::byte> header, Entry& entry);
  // Reports what went wrong with one entry or file; what would go wrong for all that follow (a full or
  // read-only filesystem, a peer that breaks the protocol) ends the run.
  void report(const io::Error& error);
  void fail(const io::Error& error);
  void lose_stream(const io::Error& error);
  bool giving_up() const { return target_.stopped() || target_.refusing(); }
  void protocol_error(std::string_view what);

  Target& target_;
  const std::size_t index_;
  const net::StreamShape shape_;
  std::unique_ptr<io::Ring> ring_;
  std::unique_ptr<net::Stream> stream_;
  std::unique_ptr<RegisteredFiles> files_;
  std::unique_ptr<io::WaitList> turns_;  // of ordered files
  std::unique_ptr<TargetTree> tree_;
  ArchiveReader reader_;
  Entry entry_;
  StageTimes times_;
  bool stream_lost_ = false;
};

}  // namespace rdcp::tree
