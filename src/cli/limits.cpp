#include "cli/limits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/human.h"

namespace rdcp::cli {

std::string limited_by(const tree::Done& source, const tree::Done& target, double seconds) {
  if (source.bytes == 0 || seconds <= 0) return {};
  const tree::StageTimes& from = source.times;
  const tree::StageTimes& to = target.times;
  // At the source a chunk that waits for the network or for the target looks alike; the target knows its own
  // part.
  const std::uint64_t away = from.send_ns + from.credit_ns;
  const std::uint64_t at_target = to.write_ns + to.digest_ns;
  const std::array<std::pair<std::uint64_t, const char*>, 5> stages{{
      {to.write_ns, "target writes"},
      {from.read_ns, "source reads"},
      {away > at_target ? away - at_target : 0, "the network"},
      {from.digest_ns + to.digest_ns, "digests"},
      {from.idle_ns, "finding files"},
  }};
  const auto most = std::max_element(stages.begin(), stages.end(),
                                     [](const auto& a, const auto& b) { return a.first < b.first; });
  return std::string(most->second) + " (" + format_rate(static_cast<double>(source.bytes) / seconds) + ")";
}

}  // namespace rdcp::cli
