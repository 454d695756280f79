#include "cli/copy/slow_hosts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "cli/text/human.h"

namespace rdcp::cli {
namespace {

using Hosts = std::set<std::size_t>;

constexpr double kUnlimited = 1e18;
// Where less of the time is used, there is too little to measure.
constexpr double kLeastShare = 0.01;
// A host that holds others up has this share of its slots in work.
constexpr double kManySlots = 0.5;
// A thread that waits for the disk does not take what arrives, so the link looks busy, too.
constexpr double kDiskToLink = 0.8;

// Counters of an agent that lies may fall.
double difference(std::uint64_t from, std::uint64_t to) {
  return to > from ? static_cast<double>(to - from) : 0;
}

}  // namespace

const char* SlowHosts::Window::busiest_part() const {
  return disk >= kDiskToLink * link ? "its disk" : "its link";
}

void SlowHosts::begin(Terms terms) {
  *this = {};
  terms_ = std::move(terms);
  for (const auto& [host, parent] : terms_.parents) hosts_[host];
}

SlowHosts::Window SlowHosts::window_of(const tree::Pace& from, const tree::Pace& to) {
  Window window;
  const double passed = difference(from.clock_us, to.clock_us);
  if (passed == 0) return window;
  const auto share = [&](std::uint64_t before, std::uint64_t after) {
    return std::min(difference(before, after) / passed, 1.0);
  };
  const double slots = std::max<double>(to.slots, 1) * passed;
  window.bytes_per_second = difference(from.bytes, to.bytes) * 1e6 / passed;
  window.link = share(from.arriving_us, to.arriving_us);
  window.disk = share(from.handling_us, to.handling_us);
  window.in_work = difference(from.handling_slots_us, to.handling_slots_us) / slots;
  window.held = window.in_work + difference(from.waiting_slots_us, to.waiting_slots_us) / slots;
  return window;
}

void SlowHosts::take(std::size_t host, const tree::Pace& pace) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  Host& at = found->second;
  at.to = pace;
  if (!std::exchange(at.heard, true)) at.from = pace;
  if (at.full || difference(at.from.clock_us, pace.clock_us) < kWindowUs || pace.bytes <= at.from.bytes)
    return;
  at.full = true;
  if (++full_ == hosts_.size()) end_window();
}

void SlowHosts::end_window() {
  full_ = 0;
  for (auto& [host, at] : hosts_) at.last = window_of(at.from, at.to);
  Hosts slow = find_slow();
  const bool same = slow == found_;
  found_ = std::move(slow);
  in_row_ = found_.empty() ? 0 : same ? in_row_ + 1 : 1;
  for (auto& [host, at] : hosts_) {
    if (in_row_ <= 1) at.row_from = at.from;
    at.row = window_of(at.row_from, at.to);
    at.from = at.to;
    at.full = false;
  }
}

// Returns what those that are not slow could do.
double SlowHosts::others_could() const {
  double could = terms_.bytes_per_second != 0 ? static_cast<double>(terms_.bytes_per_second) : kUnlimited;
  for (const auto& [host, at] : hosts_) {
    if (found_.contains(host)) continue;
    const bool link_counts = !has_parent(host, found_);  // it is to have another one
    const double busy = std::max({at.row.disk, link_counts ? at.row.link : 0, kLeastShare});
    could = std::min(could, at.row.bytes_per_second / busy);
  }
  return could;
}

bool SlowHosts::has_parent(std::size_t host, const Hosts& among) const {
  const auto& parent = terms_.parents.at(host);
  return parent && among.contains(*parent);
}

// Returns all disks and links, the busiest first.
std::vector<SlowHosts::Part> SlowHosts::parts() const {
  std::vector<Part> parts;
  for (const auto& [host, at] : hosts_) {
    parts.push_back({host, true, at.last.link});
    parts.push_back({host, false, at.last.disk});
  }
  std::ranges::stable_sort(parts, std::greater(), &Part::busy);
  return parts;
}

// A link that is always in use can carry no more. A disk with many chunks in work at a time may be able to
// take more, unless chunks queue up there, or before.
bool SlowHosts::holds_others_up(const Part& part) const {
  if (part.busy < kBusy) return false;
  if (part.is_link) return true;
  const Window& own = hosts_.at(part.host).last;
  const auto& parent = terms_.parents.at(part.host);
  const bool queue_before = parent && hosts_.at(*parent).last.held >= kManySlots;
  return own.in_work >= kManySlots || own.link >= kBusy || queue_before;
}

// Returns how many are so much busier than all that follow; 0: there is no such gap.
std::size_t SlowHosts::busy_parts(const std::vector<Part>& parts) const {
  for (std::size_t busy = 1; busy < parts.size(); ++busy) {
    if (parts[busy - 1].busy >= kTimesFaster * std::max(parts[busy].busy, kLeastShare)) return busy;
  }
  return 0;
}

// Returns the fewest hosts to which these are put down, or nothing if only the source can be the cause.
std::optional<Hosts> SlowHosts::hosts_of(std::vector<Part> busy) const {
  Hosts slow, links;
  for (const Part& part : busy) {
    if (!part.is_link) slow.insert(part.host);
  }
  for (const Part& part : busy) {
    if (part.is_link && !slow.contains(part.host) && !has_parent(part.host, slow)) links.insert(part.host);
  }
  const auto depth = [&](std::size_t host) {
    std::size_t depth = 0;
    for (auto parent = terms_.parents.at(host); parent; parent = terms_.parents.at(*parent)) ++depth;
    return depth;
  };
  while (!links.empty()) {
    const std::size_t last = *std::ranges::max_element(links, {}, depth);
    const auto parent = terms_.parents.at(last);
    const auto is_at_parent = [&](std::size_t link) {
      return link == parent || terms_.parents.at(link) == parent;
    };
    const bool several = parent && std::ranges::count_if(links, is_at_parent) > 1;
    if (!parent) return std::nullopt;
    const std::size_t cause = several ? *parent : last;
    slow.insert(cause);
    std::erase_if(links, [&](std::size_t link) { return link == cause || has_parent(link, {cause}); });
  }
  return slow;
}

Hosts SlowHosts::find_slow() const {
  const std::vector<Part> all = parts();
  if (all.empty() || !holds_others_up(all.front())) return {};
  const std::size_t busy = busy_parts(all);
  if (busy == 0) return {};
  const auto slow = hosts_of({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(busy)});
  return slow && others_have_fast_links(*slow) ? *slow : Hosts();
}

// Where all links are as slow, every second host is at one end of each. Links to those behind a slow host are
// to go, so they tell nothing of what follows.
bool SlowHosts::others_have_fast_links(const Hosts& slow) const {
  std::size_t others = 0, known = 0;
  for (const auto& [host, at] : hosts_) {
    if (slow.contains(host)) continue;
    ++others;
    if (!has_parent(host, slow)) ++known;
  }
  return known > 0 && 2 * known >= others;
}

std::vector<SlowHosts::Slow> SlowHosts::slow(std::optional<std::uint64_t> bytes_left) const {
  if (in_row_ < kWindowsInRow || found_.size() > terms_.may_leave) return {};
  const double rate = hosts_.at(*found_.begin()).row.bytes_per_second;
  const double could = others_could();
  if (could < kTimesFaster * rate) return {};
  const double left = bytes_left ? static_cast<double>(*bytes_left) : 0;
  if (bytes_left && left / rate - left / could - kRestartSeconds < kSecondsSaved) return {};
  std::vector<Slow> slow;
  for (const std::size_t host : found_) {
    const Window& row = hosts_.at(host).row;
    slow.push_back({host, std::string("slower than the others: ") + row.busiest_part() + " takes " +
                              format_rate(row.bytes_per_second / std::max(row.busiest(), kLeastShare)) +
                              " where they could do " + format_rate(could)});
  }
  return slow;
}

std::vector<SlowHosts::Speed> SlowHosts::slowest(std::size_t most) const {
  std::vector<Speed> speeds;
  for (const auto& [host, at] : hosts_) {
    if (at.last.busiest() < kLeastShare) continue;
    speeds.push_back({host, at.last.bytes_per_second / at.last.busiest(), at.last.busiest_part()});
  }
  const std::size_t count = std::min(most, speeds.size());
  std::ranges::partial_sort(speeds, speeds.begin() + static_cast<std::ptrdiff_t>(count), {},
                            &Speed::bytes_per_second);
  speeds.resize(count);
  return speeds;
}

}  // namespace rdcp::cli
