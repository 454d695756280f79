#include "cli/runs/load_hosts.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/launch/program_answer.h"
#include "cli/options/destination.h"
#include "cli/options/known_file.h"
#include "cli/places/host_list.h"

namespace rdcp::cli {

using io::ErrorKind;
using io::Result;

namespace {

constexpr std::size_t kListBytesMax = 4 << 20;
constexpr std::chrono::seconds kProgramTime{10};
constexpr std::string_view kBlanks = " \t\r\n";

// Calls take() with each word between blanks, without remarks.
template <class Take>
Result<void> for_each_word(std::string_view text, Take take) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    for (;;) {
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
      if (auto taken = take(word); !taken) return taken;
      line.remove_prefix(word.size());
    }
  }
  return {};
}

Result<std::string> answer_to(const std::vector<std::string>& command, std::string_view asked) {
  auto answer = answer_of(command, -1, kProgramTime, kListBytesMax);
  if (!answer) return std::move(answer).error();
  if (*answer && (*answer)->status == 0) return std::move((*answer)->text);
  const std::string why =
      *answer ? fmt::format("it ended with status {}; it has said why on standard error", (*answer)->status)
              : std::string("it has not answered");
  return io::plain_error(ErrorKind::unreachable, fmt::format("ask {} for", command.front()), asked, why);
}

Result<std::string> nodes_of_job() {
  const char* const nodes = std::getenv("SLURM_JOB_NODELIST");
  if (nodes == nullptr) {
    return io::plain_error(
        ErrorKind::usage, "--hosts", "slurm",
        "this is no job of Slurm: SLURM_JOB_NODELIST is not set; run it in salloc or sbatch");
  }
  return answer_to({"scontrol", "show", "hostnames", nodes}, nodes);
}

// The hosts, in the order in which they are first named.
class Targets {
 public:
  explicit Targets(std::string path) : path_(std::move(path)) {}

  Result<void> add(std::string_view list) {
    auto locations = locations_on(list, path_);
    if (!locations) return std::move(locations).error();
    for (Location& location : *locations) {
      if (auto added = location.host.starts_with('@') ? add_group(location.host) : add(std::move(location));
          !added)
        return added;
    }
    return {};
  }
  std::vector<Location> take() { return std::move(targets_); }

 private:
  Result<void> add_group(const std::string& group) {
    auto names = answer_to({"nodeset", "--expand", group}, group);
    if (!names) return std::move(names).error();
    return for_each_word(*names, [&](std::string_view name) -> Result<void> {
      if (name.starts_with('@')) {
        return io::plain_error(ErrorKind::usage, "list of hosts", group, "nodeset does not know this group");
      }
      return add(name);
    });
  }
  Result<void> add(Location location) {
    if (!seen_.insert(location.ssh_destination()).second) return {};
    if (targets_.size() == kHostsMax) {
      return io::plain_error(ErrorKind::usage, "list of hosts", location.host,
                             fmt::format("there are more than {} hosts", kHostsMax));
    }
    targets_.push_back(std::move(location));
    return {};
  }

  const std::string path_;
  std::vector<Location> targets_;
  std::set<std::string> seen_;
};

}  // namespace

Result<void> load_hosts(Options& options) {
  const HostWords& words = options.host_words;
  if (!words.any()) return {};
  Targets targets(options.destination.path);
  if (!words.list.empty()) {
    if (auto added = targets.add(words.list); !added) return added;
  } else {
    auto text = words.from == "slurm" ? nodes_of_job() : read_list(words.from, kListBytesMax);
    if (!text) return std::move(text).error();
    if (auto added = for_each_word(*text, [&](std::string_view list) { return targets.add(list); }); !added)
      return added;
  }
  std::vector<Location> all = targets.take();
  if (all.empty()) {
    const bool in_dst = !words.list.empty();
    return io::plain_error(ErrorKind::usage, in_dst ? "list of hosts" : "--hosts",
                           in_dst ? words.list : words.from, "it names no host");
  }
  options.destination = std::move(all.front());
  all.erase(all.begin());
  options.further_destinations = std::move(all);
  return {};
}

}  // namespace rdcp::cli
