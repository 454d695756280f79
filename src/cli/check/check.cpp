#include "cli/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "cli/check/check_party.h"
#include "cli/check/checked_host.h"
#include "cli/check/list_check.h"
#include "cli/check/tree_check.h"
#include "cli/options/destination.h"
#include "cli/text/exit_status.h"
#include "cli/text/human.h"
#include "cli/text/output.h"
#include "cli/text/process.h"
#include "cli/text/report.h"

namespace rdcp::cli {

namespace {

// Compares all hosts at the same time. Those that are late are compared afterwards, for which SRC is read
// once more.
class Check {
 public:
  Check(const Options& options, int signal_fd, JsonReport* json);
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  using Hosts = std::vector<CheckedHost*>;

  std::string name_of(const CheckedHost& host) const {
    return several_ ? host.place.ssh_destination() : std::string();
  }
  void compare(const Hosts& hosts, bool leave_late);
  void tell_counts(const CheckedHost& host, Clock::duration took) const;
  void finish_output();
  void tell_hosts();
  int status() const;

  const Options& options_;
  const int signal_fd_;
  JsonReport* const json_;
  const bool several_;
  std::deque<CheckedHost> hosts_;
  CheckParty* party_ = nullptr;  // the present one
  int ended_by_ = kExitOk;       // the status if a signal has ended the check
};

Check::Check(const Options& options, int signal_fd, JsonReport* json)
    : options_(options), signal_fd_(signal_fd), json_(json), several_(options.host_words.any()) {
  for (const Location& place : targets_of(options)) {
    const std::string name = several_ ? place.ssh_destination() : std::string();
    hosts_.push_back({place, Differences(options.json.has_value(), name, [this](std::string_view lines) {
                        return print_out(lines, party_->sessions());
                      })});
  }
}

int Check::run() {
  Hosts hosts;
  for (CheckedHost& host : hosts_) hosts.push_back(&host);
  compare(hosts, several_);
  std::erase_if(hosts, [](const CheckedHost* host) { return !host->is_late; });
  if (!hosts.empty() && ended_by_ == kExitOk) {
    for (CheckedHost* const host : hosts) host->is_late = false;
    compare(hosts, false);
  }
  finish_output();
  if (several_) tell_hosts();
  if (json_ != nullptr) {
    CheckCounts counts;
    std::uint64_t differences = 0;
    for (const CheckedHost& host : hosts_) {
      counts.entries += host.counts.entries;
      counts.bytes += host.counts.bytes;
      differences += host.differences.count();
    }
    json_->count("entries", counts.entries);
    json_->count("bytes", counts.bytes);
    json_->count("differences", differences);
  }
  return status();
}

void Check::compare(const Hosts& hosts, bool leave_late) {
  const auto begun = Clock::now();
  CheckParty party(options_, signal_fd_, json_);
  party_ = &party;
  const bool with_list = !options_.manifest_file.empty() || !options_.sums_file.empty();
  const bool whole = with_list ? ListCheck(options_, party).run(hosts, leave_late)
                               : party.start(&options_.sources.front(), hosts, leave_late) &&
                                     TreeCheck(options_, party).run();
  const auto took = Clock::now() - begun;
  if (party.status() >= kExitSignalBase) ended_by_ = party.status();
  for (CheckedHost* const host : hosts) {
    if (host->is_late) continue;
    host->raise(party.status());
    if (!whole && host->cause.empty()) host->cause = "not all was compared; an earlier error says why";
    if (options_.verbose && host->cause.empty()) tell_counts(*host, took);
  }
}

void Check::tell_counts(const CheckedHost& host, Clock::duration took) const {
  const std::string name = name_of(host);
  write_to_stderr(fmt::format("{}: {}compared {}, {} on each side, in {:.3f} s: {}\n", options_.program,
                              name.empty() ? name : name + ": ",
                              plural(host.counts.entries, "entry", "entries"),
                              format_bytes(host.counts.bytes), std::chrono::duration<double>(took).count(),
                              plural(host.differences.count(), "difference", "differences")));
}

// All hosts have the same output, so one error says it all.
void Check::finish_output() {
  bool told = false;
  for (CheckedHost& host : hosts_) {
    if (host.differences.count() > 0) host.raise(kExitFiles);
    const auto finished = host.differences.finish();
    if (finished) continue;
    host.raise(kExitFiles);
    if (!std::exchange(told, true)) write_to_stderr(error_line(finished.error(), options_.program));
  }
}

// Says which hosts were not compared. Their causes were told when they came up.
void Check::tell_hosts() {
  std::vector<std::string> left;
  for (CheckedHost& host : hosts_) {
    if (host.is_late) host.cause = "not compared";
    if (!host.cause.empty()) left.push_back(name_of(host));
    if (json_ != nullptr) (void)json_->host(name_of(host), host.cause, host.status);
  }
  if (left.empty()) return;
  write_to_stderr(fmt::format("{}: {} of {} hosts were compared; not to the end: {}\n", options_.program,
                              hosts_.size() - left.size(), hosts_.size(), fmt::join(left, ", ")));
}

int Check::status() const {
  if (ended_by_ != kExitOk) return ended_by_;
  const auto [least, most] = std::ranges::minmax_element(hosts_, {}, &CheckedHost::status);
  return least->status == most->status ? most->status : kExitFiles;
}

}  // namespace

int run_check(const Options& options, int signal_fd, JsonReport* json) {
  return Check(options, signal_fd, json).run();
}

}  // namespace rdcp::cli
