// The source's slot loop: one thread, one ring, one stream, and as many coroutines as chunks are under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/arena.h"
#include "io/ring.h"
#include "io/step.h"
#include "net/stream/stream.h"
#include "tree/plan/plan.h"
#include "tree/source/compare_requester.h"
#include "tree/source/packer.h"
#include "tree/source/source.h"
#include "tree/streams/worker.h"

namespace rdcp::tree {

class SourceWorker {
 public:
  SourceWorker(Source& source, std::size_t index);
  // Until the plan has nothing more, the run is stopped (or failed here, and that is reported), or the stream
  // is lost.
  void run(const StreamMaker& make_stream);

 private:
  // What a slot holds, ready to be sent.
  struct Chunk {
    enum class State : std::uint8_t { ready, nothing, failed };
    Chunk() = default;
    explicit Chunk(State state) : state(state) {}
    explicit Chunk(const net::Frame& frame, std::size_t length = 0)
        : frame(frame), length(length), moves(length) {}

    net::Frame frame;
    std::size_t length = 0;   // of its payload
    std::uint64_t moves = 0;  // bytes that take their turn (--bwlimit): the kernel moves more than is sent
    Packer::Packed packed;    // of a batch
    State state = State::ready;
  };

  io::Task slot_loop(std::span<std::byte> slot);
  Chunk prepare(Work& work, std::span<std::byte> slot);
  Chunk pack_batch(Work& work, std::span<std::byte> slot);
  Chunk ask(Work& work, std::span<std::byte> slot);
  Chunk list_names(Work& work, std::span<std::byte> slot);
  Chunk page(net::FrameKind kind, std::uint64_t serial, std::span<std::byte> slot, std::size_t length);
  Chunk open_file(const FileTransferRef& file, std::span<std::byte> slot);
  io::RingFile choose_opened(const Root& root, const OpenedFile& opened) const;
  void plan_given(const FileTransfer& transfer, OpenedFile& opened) const;
  bool plan_regular(const FileTransfer& transfer, OpenedFile& opened, net::Frame& frame);
  Chunk take_extent(Work& work, std::span<std::byte> slot, const io::IoResult& read);
  Chunk by_kernel(const Work& work);
  io::Step<Chunk> probe_span(Work& work, std::span<std::byte> slot);
  io::Step<Chunk> probe_chunks(Work& work, std::span<std::byte> slot);
  Chunk probe_again(const Work& work, std::span<std::byte> slot);
  Chunk ask(const Work& work);
  Chunk close_file(Work& work, std::span<std::byte> slot);
  Chunk give_up(Work& work);
  bool may_read_again(const FileTransfer& file) const;
  bool is_listed(const Work& work) const;
  io::Step<std::optional<io::Digest>> digest_in_order(const FileTransfer& file, std::span<std::byte> slot);
  Chunk with_digest(net::Frame frame, std::span<std::byte> slot, std::size_t length);
  // Takes the target's word. True: work has a next step for the same coroutine.
  bool settle(Work& work, const Chunk& chunk, net::AckStatus status, std::span<const std::byte> slot,
              const net::Verdicts& verdicts);
  bool settle_compare(Work& work, const Chunk& chunk, net::AckStatus status, const net::Verdicts& verdicts);
  bool settle_batch(Work& work, Packer::Packed packed);
  bool settle_names(Work& work, const Chunk& chunk, net::AckStatus status, const net::Verdicts& verdicts);
  Packer::Packed sums_of(const FileTransfer& file, const io::Digest& content) const;
  bool settle_extent(Work& work, const Chunk& chunk, net::AckStatus status);
  bool settle_span(Work& work, const Chunk& chunk, net::AckStatus status, std::span<const std::byte> slot,
                   const net::Verdicts& verdicts);
  void settle_open(Work& work, net::AckStatus status);
  void settle_close(Work& work, const Chunk& chunk, net::AckStatus status);
  void fail(const io::Error& error);
  void lose_stream(const io::Error& error);
  void give_back(Work work);

  Source& source_;
  const std::size_t index_;  // of the stream
  const std::uint32_t depth_;
  std::unique_ptr<io::Ring> ring_;
  std::unique_ptr<net::Stream> stream_;
  std::unique_ptr<RegisteredFiles> files_;
  std::unique_ptr<io::WaitList> idle_;
  Packer packer_;
  CompareRequester asker_;
  StageTimes times_;
  std::uint32_t running_slots_ = 0;
  std::uint32_t reading_streams_ = 0;  // of these, what has no size: nobody knows for how long
  bool stream_lost_ = false;
  bool carried_ = false;  // a chunk went over the stream
};

}  // namespace rdcp::tree
