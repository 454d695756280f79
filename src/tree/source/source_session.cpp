#include "tree/source/source_session.h"

#include <algorithm>
#include <limits>

#include "io/arena.h"

namespace rdcp::tree {

namespace {

// Files up to this size travel in archive chunks, if a chunk holds several; see "Trees" in ARCHITECTURE.md.
constexpr std::uint64_t kSmallFileMax = 128 << 10;
// How much of a file one copy_range covers: enough to be worth the call, not so much that a signal has to
// wait.
constexpr std::uint64_t kByKernelBytes = 16 << 20;

// With --bwlimit a request covers as much as has its turn in an eighth of a second, so that a copy within the
// kernel keeps to the rate, too.
std::uint64_t by_kernel_bytes(std::uint64_t bytes_per_second) {
  if (bytes_per_second == 0) return kByKernelBytes;
  return std::clamp(io::round_up(bytes_per_second / 8, kSmallFileMax), kSmallFileMax, kByKernelBytes);
}

}  // namespace

SourceSession::SourceSession(const SourceJob& job, const StandardStreams& standard,
                             const ReadContext& reading, bool removes)
    : job_(job),
      standard_(standard),
      reading_(reading),
      removes_(removes),
      plan_({.extent_bytes = job.settings.chunk_bytes,
             .by_kernel_bytes = by_kernel_bytes(job.bytes_per_second)}),
      limiter_(job.bytes_per_second) {
  terms_.small_file_max = small_file_max(job.settings.chunk_bytes);
}

std::uint64_t SourceSession::small_file_max(std::size_t chunk_bytes) {
  return std::min<std::uint64_t>(kSmallFileMax, chunk_bytes / 4);
}

std::uint64_t SourceSession::digest_max() const {
  return job_.settings.checksum ? terms_.small_file_max : std::numeric_limits<std::uint64_t>::max();
}

void SourceSession::fail(const io::Error& error) {
  reading_.reporter.fatal(error);
  plan_.stop();
}

void SourceSession::stop() {
  stopped_ = true;
  plan_.stop();
}

}  // namespace rdcp::tree
