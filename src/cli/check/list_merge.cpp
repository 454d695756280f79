#include "cli/check/list_merge.h"

#include <algorithm>
#include <utility>

#include "tree/meta/names.h"

namespace rdcp::cli {

using tree::EntryType;
using tree::ListedEntry;

namespace {

// All targets together have about this many entries at most, apart from what each needs to go on.
constexpr std::size_t kWaitingOfAll = 32 << 10;
constexpr std::size_t kWaitingMin = 256;

bool is_beneath(const std::string& path, const std::string& top) {
  return top.empty() || (path.size() > top.size() && path.starts_with(top) && path[top.size()] == '/');
}

bool is_beneath(const std::string& path, const std::optional<std::string>& top) {
  return top && is_beneath(path, *top);
}

bool is_known(const std::string& path, const std::vector<std::string>& unlisted) {
  return std::ranges::none_of(unlisted,
                              [&](const std::string& top) { return path == top || is_beneath(path, top); });
}

ListedEntry take_first(std::deque<ListedEntry>& entries) {
  ListedEntry entry = std::move(entries.front());
  entries.pop_front();
  return entry;
}

}  // namespace

ListMerge::ListMerge(std::size_t targets, Hear hear)
    : hear_(std::move(hear)),
      waiting_max_(std::clamp(kWaitingOfAll / std::max<std::size_t>(targets, 1), kWaitingMin, kWaitingMax)),
      sides_(targets + 1) {}

bool ListMerge::is_in_order(const Side& side, const ListedEntry& entry) {
  if (!side.begun) return entry.path.empty();
  return !entry.path.empty() && tree::is_safe_path(entry.path) && tree::precedes(side.last, entry.path) &&
         static_cast<unsigned>(entry.type) <= static_cast<unsigned>(EntryType::block_device);
}

bool ListMerge::add(std::size_t side, tree::Listed page) {
  Side& to = sides_[side];
  for (ListedEntry& entry : page.entries) {
    if (!is_in_order(to, entry)) return false;
    to.begun = true;
    to.last = entry.path;
    to.entries.push_back(std::move(entry));
  }
  to.over = page.over;
  return true;
}

// Keeps a bounded list. Where more is missing, nothing counts as known.
void ListMerge::add_unlisted(std::size_t side, std::string path) {
  std::vector<std::string>& unlisted = sides_[side].unlisted;
  if (unlisted.size() == kUnlistedMax) unlisted.assign(1, "");
  unlisted.push_back(std::move(path));
}

const ListedEntry* ListMerge::next_of(std::size_t side) const {
  const auto& entries = sides_[side].entries;
  return entries.empty() ? nullptr : &entries.front();
}

// The count of what was compared stays.
void ListMerge::leave_out(std::size_t side) {
  const std::uint64_t compared = sides_[side].compared;
  sides_[side] = {};
  sides_[side].compared = compared;
  sides_[side].left_out = true;
}

bool ListMerge::is_over() const {
  return std::ranges::all_of(
      sides_, [](const Side& side) { return side.left_out || (side.over && side.entries.empty()); });
}

bool ListMerge::take_next() {
  const Side& source = sides_[kSource];
  const ListedEntry* const wanted = next_of(kSource);
  if (wanted == nullptr && !source.over) return false;
  bool all_there = true;
  for (std::size_t side = 1; side < sides_.size(); ++side) {
    if (!sides_[side].left_out && !catch_up(side, wanted)) all_there = false;
  }
  if (!all_there || wanted == nullptr) return false;
  take_wanted();
  return true;
}

// Takes what a target has before the source's next entry, or all if the source has no more. Returns false if
// more of its list must come before it is known whether it has that entry.
bool ListMerge::catch_up(std::size_t number, const ListedEntry* wanted) {
  Side& side = sides_[number];
  side.meets = false;
  while (!side.entries.empty()) {
    const ListedEntry& next = side.entries.front();
    if (is_beneath(next.path, side.skipped)) {
      side.entries.pop_front();
      continue;
    }
    side.meets = wanted != nullptr && next.path == wanted->path;
    if (side.meets || (wanted != nullptr && tree::precedes(wanted->path, next.path))) return true;
    take_extra(number);
  }
  return side.over;
}

void ListMerge::take_extra(std::size_t number) {
  Side& side = sides_[number];
  const ListedEntry entry = take_first(side.entries);
  ++side.compared;
  if (entry.type == EntryType::directory) side.skipped = entry.path;
  if (is_known(entry.path, sides_[kSource].unlisted)) hear_.extra(number, entry);
}

void ListMerge::take_wanted() {
  const ListedEntry wanted = take_first(sides_[kSource].entries);
  const bool is_directory = wanted.type == EntryType::directory;
  std::vector<Match> found;
  for (std::size_t number = 1; number < sides_.size(); ++number) {
    Side& side = sides_[number];
    if (side.left_out || is_beneath(wanted.path, side.skipped_of_source)) continue;
    ++side.compared;
    if (!side.meets) {
      if (is_directory) side.skipped_of_source = wanted.path;
      if (is_known(wanted.path, side.unlisted)) hear_.missing(number, wanted);
      continue;
    }
    const ListedEntry& match = found.emplace_back(Match{number, take_first(side.entries)}).found;
    if (match.type == wanted.type) continue;
    if (is_directory) side.skipped_of_source = wanted.path;
    if (match.type == EntryType::directory) side.skipped = match.path;
  }
  if (!found.empty()) hear_.both(wanted, found);
}

}  // namespace rdcp::cli
