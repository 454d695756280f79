// Compares how long a copy to many targets takes with what TargetTree expects. All targets are in this
// process, joined by streams in memory; each sends at a rate that its links share. What the processors take
// is taken off: the same copy without a rate is timed before.
#include <fmt/core.h>
#include <sys/resource.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/layout/target_tree.h"
#include "tests/tree/forward/chain_fixture.h"

namespace rdcp {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::uint32_t kChunkBytes = 16 << 10;
constexpr std::size_t kChunks = 24;

// Returns how long a chunk is on a link: long enough that the processors, which all targets share, do not
// decide.
Seconds time_of_chunk(std::size_t targets) {
  return std::max(Seconds(0.02), Seconds(1e-4) * static_cast<double>(targets));
}

// The link of one sender, which its streams use in turn.
class Link {
 public:
  void carry(Seconds time) {
    std::unique_lock lock(mutex_);
    const std::uint64_t turn = last_++;
    next_.wait(lock, [&] { return turn == served_; });
    lock.unlock();
    std::this_thread::sleep_for(time);
    lock.lock();
    ++served_;
    next_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable next_;
  std::uint64_t last_ = 0, served_ = 0;
};

// Returns what each stream to a target passes: it holds a chunk for its time on the link of whoever sends it.
std::vector<net::MemoryTap> links(std::size_t targets, std::size_t fanout) {
  std::vector<std::shared_ptr<Link>> senders;
  for (std::size_t i = 0; i <= targets; ++i) senders.push_back(std::make_shared<Link>());
  std::vector<net::MemoryTap> taps;
  for (std::size_t i = 0; i < targets; ++i) {
    const auto sender = senders[i == 0 ? targets : (i - 1) / fanout];
    taps.emplace_back([sender, time = time_of_chunk(targets)](net::Frame&, std::span<std::byte> payload) {
      sender->carry(time * static_cast<double>(payload.size()) / kChunkBytes);
      return true;
    });
  }
  return taps;
}

// Returns how long a copy takes, or ends the program if it fails.
Seconds timed_copy(const std::string& folder, std::size_t targets, std::size_t fanout, bool with_rate) {
  tree::ChainCase wanted;
  wanted.sources = {folder + "/from/"};
  wanted.fanout = fanout;
  wanted.streams = 1;
  wanted.chunk_bytes = kChunkBytes;
  wanted.depth = kChunks + 4;  // so no link waits for an answer
  wanted.ledger = false;
  for (std::size_t i = 0; i < targets; ++i) {
    const std::string host = folder + "/host" + std::to_string(i);
    std::filesystem::create_directory(host);
    wanted.destinations.push_back(host + "/to");
  }
  if (with_rate) wanted.taps = links(targets, fanout);
  tree::Heard heard;
  tree::Chain copy(wanted, heard);
  const auto begun = std::chrono::steady_clock::now();
  const tree::ChainResult result = copy.run();
  const Seconds taken = std::chrono::steady_clock::now() - begun;
  const bool whole =
      std::ranges::all_of(result.targets, [](const tree::Done& done) { return done.complete; });
  if (!result.source.complete || !whole) {
    fmt::print(stderr, "the copy has failed: {}\n", heard.text());
    std::exit(1);
  }
  for (const std::string& destination : wanted.destinations) std::filesystem::remove_all(destination);
  return taken;
}

void compare(const std::string& folder, std::size_t targets, unsigned fanout) {
  const cli::TreeFacts facts{.targets = targets,
                             .bytes = kChunks * kChunkBytes,
                             .chunk_bytes = kChunkBytes,
                             .bytes_per_second = kChunkBytes / time_of_chunk(targets).count()};
  const Seconds processors = timed_copy(folder, targets, fanout, false);
  const Seconds taken = timed_copy(folder, targets, fanout, true) - processors;
  const Seconds expected = cli::expected_time(facts, fanout);
  fmt::print(
      "{:6} targets, fanout {:2}: {:7.2f} s, expected {:7.2f} s, ratio {:4.2f}; processors {:6.2f} s\n",
      targets, fanout, taken.count(), expected.count(), taken / expected, processors.count());
}

}  // namespace
}  // namespace rdcp

// chain_model [TARGETS...]: 1,000 if none are given.
int main(int argc, char** argv) {
  rlimit files{};
  (void)::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
  const rdcp::tree::ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "from");
  rdcp::tree::write_file(scratch / "from/file", rdcp::tree::test_bytes(rdcp::kChunks * rdcp::kChunkBytes, 1));
  const std::string folder = std::filesystem::path(scratch / "from").parent_path();
  std::vector<std::size_t> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(std::strtoul(argv[i], nullptr, 10));
  if (counts.empty()) counts = {1000};
  for (const std::size_t targets : counts) {
    for (const unsigned fanout : {1u, 2u, 3u, 4u, 8u, 16u}) rdcp::compare(folder, targets, fanout);
  }
}
