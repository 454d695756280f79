#include "cli/runs/fleet_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text/json_report.h"
#include "cli/text/output.h"

namespace rdcp::cli {
namespace {

bool has_all(const HostOutcome& outcome) {
  return outcome.state == HostOutcome::State::done && outcome.status == 0;
}

std::string cause_of(const HostOutcome& outcome) {
  return outcome.cause.empty() ? "some files are missing; an error names each" : outcome.cause;
}

}  // namespace

std::string host_lines(const std::vector<std::string>& names, const std::vector<HostOutcome>& outcomes) {
  std::string lines =
      fmt::format("rdcp: {} of {} hosts have all\n", std::ranges::count_if(outcomes, has_all), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!has_all(outcomes[i])) lines += fmt::format("rdcp: {}: {}\n", names[i], cause_of(outcomes[i]));
  }
  return lines;
}

std::string tell_hosts(const std::vector<std::string>& names, const std::vector<HostOutcome>& outcomes,
                       JsonReport& json) {
  std::string lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool all = has_all(outcomes[i]);
    lines += json.host(names[i], all ? "" : cause_of(outcomes[i]), outcomes[i].status);
  }
  return lines;
}

io::Result<void> write_failed_hosts(const std::string& path, const std::vector<std::string>& names,
                                    const std::vector<HostOutcome>& outcomes, mode_t umask) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!has_all(outcomes[i])) list += names[i] + "\n";
  }
  return write_list(path, list, umask);
}

}  // namespace rdcp::cli
