// A whole copy in one process: a real Source and a real Target, joined by memory streams.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "net/stream/memory_stream.h"
#include "tests/tree/heard.h"
#include "tests/tree/scratch_directory.h"
#include "tree/select/destination_mapping.h"
#include "tree/source/source.h"
#include "tree/streams/stream_supervisor.h"
#include "tree/target/target.h"

namespace rdcp::tree {

// What is to be damaged by a tap: each frame once, so that no chunk is given up by chance. Thread-safe.
class EachOnce {
 public:
  bool is_new(const net::Frame& frame) {
    const std::lock_guard lock(mutex_);
    return seen_.emplace(frame.kind, frame.file_id, frame.offset, frame.length).second;
  }
  std::size_t count() const { return seen_.size(); }

 private:
  std::mutex mutex_;
  std::set<std::tuple<net::FrameKind, std::uint64_t, std::uint64_t, std::uint32_t>> seen_;
};

struct CopyResult {
  Done source;
  Done target;
  bool complete() const { return source.complete && target.complete; }
};

struct StreamEnds {
  StreamMaker source;
  StreamMaker target;
};

// Settings small enough that small data takes every turn.
struct CopyCase {
  std::vector<std::string> sources;
  std::string destination;
  std::uint32_t chunk_bytes = 64 << 10;
  std::uint16_t streams = 2;
  std::uint32_t depth = 3;
  io::RingChoice ring = io::RingChoice::automatic;
  bool recursive = true;
  bool kernel_copies = false;  // as local copies do; else as if over a network
  net::MemoryTap tap;          // of every stream
  std::uint64_t bytes_per_second = 0;
  io::CacheMode cache = io::CacheMode::automatic;
  bool delta = false;
  bool inplace = false;
  bool checksum = false;
  SyncSettings sync = {};
  Selection selection = {};  // what of the source is sent, and what the target protects
  std::function<void(const Changes&)> changes = [](const Changes&) {};
  std::optional<std::uint32_t> only_file_mode = {};  // see Target::take_only_one_file()
  std::vector<std::string> landings = {};            // instead of what the rules say
  bool verify = false;
  bool fsync = false;
  std::string marker = {};  // see run_name()
  std::uint32_t retry_seconds = 0;
  std::pair<FurtherStreams*, FurtherStreams*> further{nullptr, nullptr};  // of the source, of the target
  std::function<void(Source&, Target&)> prepare = [](Source&, Target&) {};
  // The two ends of a stream; none: memory streams with the tap.
  std::function<StreamEnds(int stream, const net::StreamShape&)> join;
};

inline StreamEnds join_in_memory(const net::StreamShape& shape, const net::MemoryTap& tap) {
  auto channel = net::make_memory_channel();
  if (tap) net::set_tap(*channel, tap);
  return {
      [=](io::Ring& ring, io::Arena&) { return net::make_memory_source(ring, channel, shape); },
      [=](io::Ring& ring, io::Arena& arena) { return net::make_memory_target(ring, channel, shape, arena); }};
}

inline CopyResult run_copy(const CopyCase& copy, Heard& heard) {
  SourceJob source_job;
  source_job.settings.chunk_bytes = copy.chunk_bytes;
  source_job.settings.ring = copy.ring;
  source_job.settings.cache = copy.cache;
  source_job.settings.delta = copy.delta;
  source_job.settings.inplace = copy.inplace;
  source_job.settings.checksum = copy.checksum;
  source_job.settings.verify = copy.verify;
  source_job.settings.fsync = copy.fsync;
  source_job.settings.sync = copy.sync;
  source_job.settings.retry_seconds = copy.retry_seconds;
  source_job.streams.connect = copy.kernel_copies ? Connect::in_process : Connect::connect;
  source_job.paths = copy.sources;
  source_job.recursive = copy.recursive;
  source_job.bytes_per_second = copy.bytes_per_second;
  source_job.selection = copy.selection;
  TargetJob target_job;
  target_job.settings = source_job.settings;
  target_job.streams.connect = copy.kernel_copies ? Connect::in_process : Connect::listen;
  target_job.path = copy.destination;
  target_job.marker = copy.marker;
  target_job.selection = copy.selection;
  target_job.tree = true;

  Source source(source_job, heard.reporter);
  Target target(target_job, heard.reporter);
  source.tell_losses([&](std::size_t stream) { EXPECT_TRUE(target.hear_loss(stream)); });
  target.tell_losses([&](std::size_t stream) { EXPECT_TRUE(source.hear_loss(stream)); });
  const std::vector<PathFacts> facts = source.open();
  EXPECT_TRUE(source.start_walk());
  if (copy.only_file_mode) target.take_only_one_file(*copy.only_file_mode);
  target.tell_changes(copy.changes);
  const TargetReady ready = target.open();
  const auto landing = land(copy.sources, facts, copy.destination, ready, {.same_kernel = true});
  if (!landing) {
    heard.reporter.problem(landing.error());
    return {};
  }
  Begin begin;
  begin.beneath_parent = landing->beneath_parent;
  begin.in_place = landing->in_place;
  begin.landings = landing->admitted;
  begin.source_device = facts.front().device;
  begin.source_inode = facts.front().inode;
  begin.streams = copy.streams;
  if (landing->in_place) source.send_holes();
  if (ready.kind == PathKind::byte_stream) source.send_in_order();
  source.set_landings(copy.landings.empty() ? landing->landings : copy.landings);
  const auto begun = target.begin(begin);
  if (!begun) {
    heard.reporter.problem(begun.error());
    return {};
  }
  const net::StreamShape shape{.target_slots = copy.depth, .slot_bytes = copy.chunk_bytes};
  std::vector<StreamMaker> from, to;
  for (int i = 0; i < copy.streams; ++i) {
    const StreamEnds ends = copy.join ? copy.join(i, shape) : join_in_memory(shape, copy.tap);
    from.push_back(ends.source);
    to.push_back(ends.target);
  }
  copy.prepare(source, target);
  std::thread receiving([&] { target.copy(to, shape, copy.further.second); });
  source.copy(from, shape, copy.further.first);
  receiving.join();
  return {source.result(), target.result()};
}

// Bytes that differ at each place and for each seed.
inline std::string test_bytes(std::size_t size, std::uint64_t seed = 1) {
  std::string bytes(size, '\0');
  std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  for (char& c : bytes) {
    state = state * 6364136223846793005 + 1442695040888963407;
    c = static_cast<char>(state >> 56);
  }
  return bytes;
}

}  // namespace rdcp::tree
