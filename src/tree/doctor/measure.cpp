#include "tree/doctor/measure.h"

#include <sys/random.h>

#include <vector>

#include "io/thread.h"
#include "tree/doctor/adapter_facts.h"

namespace rdcp::tree {

struct Measure::Worker {
  std::unique_ptr<io::Ring> ring;
  std::unique_ptr<net::Stream> stream;
  std::uint32_t sending = 0;  // coroutines that are still sending
};

void Measure::run(const std::vector<StreamMaker>& streams, const net::StreamShape& shape) {
  const NetworkCounters before = network_counters();
  const io::Clock::time_point begun = io::Clock::now();
  until_ = begun + std::chrono::milliseconds(job_.milliseconds);
  measured_.streams.resize(streams.size());
  std::vector<io::Thread> threads;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    auto thread = io::Thread::start("a thread for a stream", [&, i] {
      streams[i].prepare_thread();
      work(streams[i], shape, measured_.streams[i]);
    });
    if (!thread) {
      reporter_.fatal(thread.error());
      stop();
      break;
    }
    threads.push_back(std::move(*thread));
  }
  for (io::Thread& thread : threads) thread.join();
  if (const std::string grown = growth(before, network_counters()); !grown.empty()) {
    measured_.notes.emplace_back("packets were lost, came out of order or were marked during this: " + grown);
  }
  measured_.bytes = bytes_;
  measured_.nanoseconds =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(io::Clock::now() - begun).count());
}

void Measure::work(const StreamMaker& make_stream, const net::StreamShape& shape, std::string& description) {
  auto ring = io::make_ring(job_.ring, shape.target_slots + 8);
  auto arena = io::Arena::create(shape.target_slots, shape.slot_bytes);
  if (!ring || !arena) {
    reporter_.fatal(ring ? arena.error() : ring.error());
    return;
  }
  // Makes the first bytes random, which no network can compress.
  if (job_.source &&
      ::getrandom(arena->all().data(), std::min<std::size_t>(arena->all().size(), 256), 0) < 0) {
    reporter_.fatal(io::errno_error("getrandom", "bytes to send"));
    return;
  }
  Worker worker;
  worker.ring = std::move(*ring);
  worker.stream = make_stream(*worker.ring, *arena);
  worker.stream->start();
  std::vector<io::Task> tasks;
  worker.sending = shape.target_slots;
  for (std::uint32_t i = 0; i < shape.target_slots; ++i) {
    tasks.push_back(job_.source ? send(worker, arena->slot(i)) : receive(worker));
  }
  for (io::Task& task : tasks) task.start();
  const auto driven = drive(*worker.ring, *worker.stream, tasks, [&] {
    if (stopped_) worker.stream->shut(io::plain_error(io::ErrorKind::interrupted, "measure", "", "stopped"));
    return true;
  });
  if (!driven) reporter_.fatal(driven.error());
  if (worker.stream->why_shut()) reporter_.fatal(*worker.stream->why_shut());
  description = worker.stream->description();
  worker.stream.reset();
  worker.ring.reset();
}

io::Task Measure::send(Worker& worker, std::span<std::byte> slot) {
  net::Stream& stream = *worker.stream;
  net::Frame frame = bare_frame(net::FrameKind::data, 1);
  frame.length = static_cast<std::uint32_t>(slot.size());
  while (!time_over()) {
    const auto credit = co_await stream.credit();
    if (!credit) co_return;
    frame.slot = *credit;
    const auto sent = co_await stream.send(frame, slot);
    if (!sent) co_return;
    const auto answer = co_await stream.acknowledged(*credit);
    if (!answer) co_return;
    bytes_ += slot.size();
  }
  if (--worker.sending > 0) co_return;
  const auto ended = co_await stream.send(net::Frame(), {});
  (void)ended.ok();  // why_shut() tells if the stream was lost
}

io::Task Measure::receive(Worker& worker) {
  for (;;) {
    const auto frame = co_await worker.stream->receive();
    if (!frame || !*frame) co_return;
    bytes_ += (*frame)->length;
    worker.stream->release((*frame)->slot, net::AckStatus::done);
  }
}

}  // namespace rdcp::tree
