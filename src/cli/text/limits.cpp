#include "cli/text/limits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/text/human.h"

namespace rdcp::cli {

std::string limited_by(const tree::Done& source, const tree::Done& target, const CopyRun& run) {
  if (source.bytes <= source.kept_bytes || run.seconds < 1) return {};
  const double rate = static_cast<double>(source.bytes - source.kept_bytes) / run.seconds;
  const std::string at_rate = " (" + format_rate(rate) + ")";
  constexpr double kNearly = 0.9;
  if (run.bytes_per_second != 0 && rate > kNearly * static_cast<double>(run.bytes_per_second))
    return "--bwlimit" + at_rate;
  const double threads_ns = run.seconds * 1e9 * run.workers;
  const double slots_ns = threads_ns * run.slots;
  const tree::StageTimes& from = source.times;
  const tree::StageTimes& to = target.times;
  const auto share = [&](std::uint64_t busy_ns, std::uint64_t wait_ns) {
    return static_cast<double>(busy_ns) / threads_ns + static_cast<double>(wait_ns) / slots_ns;
  };
  const std::array<std::pair<double, const char*>, 4> stages{{
      {share(to.write_busy_ns, to.write_wait_ns), "target writes"},
      {share(from.read_busy_ns, from.read_wait_ns), "source reads"},
      {share(std::max(from.digest_ns, to.digest_ns), 0), "digests"},
      {share(0, from.idle_ns), "finding files"},
  }};
  const auto most = std::max_element(stages.begin(), stages.end());
  // Chunks that were sent and that nobody works on are on the network.
  constexpr double kBusy = 0.4;
  const bool network = most->first < kBusy && share(0, from.away_ns) > most->first;
  return (network ? "the network" : most->second) + at_rate;
}

}  // namespace rdcp::cli
