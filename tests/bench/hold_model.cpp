// Compares over how many streams a copy goes with what the model says: bytes in flight are the rate times the
// time for which a chunk is held. The streams are in memory, each has one chunk in flight, and a disk that
// all of them share holds each chunk for a while and does no more than its rate.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/tree/copy/memory_meeting.h"
#include "tree/streams/stream_growth.h"

namespace rdcp::tree {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::uint32_t kChunkBytes = 64 << 10;
constexpr double kDiskBytesPerSecond = 16e6;
constexpr std::uint16_t kFirst = 4;
constexpr std::size_t kMost = 8;

// Gives each chunk a time at which it is written: after the hold time, and after all before it.
class Disk {
 public:
  explicit Disk(Seconds hold) : hold_(hold) {}
  void write(std::size_t bytes) {
    Clock::time_point done;
    {
      const std::lock_guard lock(mutex_);
      const auto took = std::chrono::duration_cast<Clock::duration>(
          Seconds(static_cast<double>(bytes) / kDiskBytesPerSecond));
      free_ = std::max(free_, Clock::now()) + took;
      done = std::max(free_, Clock::now() + std::chrono::duration_cast<Clock::duration>(hold_));
    }
    std::this_thread::sleep_until(done);
  }

 private:
  const Seconds hold_;
  std::mutex mutex_;
  Clock::time_point free_;
};

void compare(const ScratchDirectory& scratch, std::uint64_t bytes, Seconds hold) {
  Disk disk(hold);
  CopyCase copy;
  copy.sources = {scratch / "file"};
  copy.destination = scratch / "to";
  copy.recursive = false;
  copy.streams = kFirst;
  copy.depth = 1;
  copy.chunk_bytes = kChunkBytes;
  copy.retry_seconds = 60;
  copy.cache = io::CacheMode::bypass;
  copy.tap = [&](net::Frame&, std::span<std::byte> payload) { return disk.write(payload.size()), true; };
  MemoryMeeting meeting({.target_slots = copy.depth, .slot_bytes = copy.chunk_bytes}, true);
  meeting.tap = copy.tap;
  copy.further = {&meeting.source, &meeting.target};
  copy.prepare = [](Source& source, Target&) {
    source.let_streams_grow(std::make_unique<StreamGrowth>(kMost), [](std::size_t) {});
  };
  Heard heard;
  const auto begun = Clock::now();
  const CopyResult result = run_copy(copy, heard);
  const Seconds took = Clock::now() - begun;
  if (!result.complete()) {
    fmt::print(stderr, "the copy has failed: {}\n", heard.text());
    std::exit(1);
  }
  const double needed = std::ceil(kDiskBytesPerSecond * hold.count() / kChunkBytes);
  fmt::print("held {:5.1f} ms: {:2} streams keep {:.0f} MB/s in flight; {:5.1f} MB/s over {} at first; {}\n",
             hold.count() * 1e3, needed, kDiskBytesPerSecond / 1e6,
             static_cast<double>(bytes) / took.count() / 1e6, kFirst,
             result.source.notes.empty() ? "no trial" : std::string(result.source.notes[0]));
  std::filesystem::remove(scratch / "to");
}

}  // namespace
}  // namespace rdcp::tree

int main() {
  const rdcp::tree::ScratchDirectory scratch;
  constexpr std::uint64_t kBytes = 160 << 20;
  rdcp::tree::write_file(scratch / "file", rdcp::tree::test_bytes(kBytes));
  for (const double milliseconds : {5, 10, 20, 30, 40}) {
    rdcp::tree::compare(scratch, kBytes, rdcp::tree::Seconds(milliseconds / 1e3));
  }
}
