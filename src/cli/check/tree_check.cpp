#include "cli/check/tree_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/copy/copy_orders.h"

namespace rdcp::cli {

using tree::EntryType;
using tree::ListedEntry;
using tree::SumFound;
using tree::SumItem;
using tree::SumState;

namespace {

constexpr std::size_t kSource = ListMerge::kSource;
// Files larger than kUnit are compared with a digest for each kUnit bytes, in pieces that several readers may
// read at once.
constexpr std::uint64_t kUnit = 1 << 20;
constexpr std::uint64_t kPiece = tree::kSumsMax * kUnit;

std::string time_text(const ListedEntry& entry) {
  return fmt::format("{}.{:09}", entry.mtime, std::uint32_t{entry.mtime_ns});
}

// Returns the last name of a path, or "" if it has none.
std::string last_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

bool same_owner(const std::string& name, std::uint32_t id, const std::string& other_name,
                std::uint32_t other_id) {
  return name.empty() || other_name.empty() ? id == other_id : name == other_name;
}

std::string owner_text(const std::string& name, std::uint32_t id) {
  return name.empty() ? std::to_string(id) : name;
}

// Returns where the digests of an item first differ: the number of the digest, or nothing if they are equal.
// Where neither side could read what both have, nobody knows that it is equal.
std::optional<std::uint64_t> first_difference(const SumItem& item, const SumFound& wanted,
                                              const SumFound& found) {
  const bool unread = wanted.digests.empty() && item.offset < wanted.size;
  if (wanted.digests == found.digests && !unread) return std::nullopt;
  const auto at = std::ranges::mismatch(wanted.digests, found.digests).in1;
  return static_cast<std::uint64_t>(at - wanted.digests.begin());
}

}  // namespace

TreeCheck::TreeCheck(const Options& options, CheckParty& party)
    : options_(options),
      party_(party),
      merge_(
          party.agents() - 1,
          {.missing = [this](std::size_t side,
                             const ListedEntry& entry) { differences(side).missing(entry.path, entry.type); },
           .extra = [this](std::size_t side,
                           const ListedEntry& entry) { differences(side).extra(entry.path, entry.type); },
           .both = [this](const ListedEntry& wanted, const auto& found) { compare(wanted, found); }}),
      tops_(party.agents()) {}

bool TreeCheck::run() {
  const bool whole = compare_all();
  for (std::size_t side = 1; side < merge_.sides(); ++side) leave_out(side);
  return whole;
}

bool TreeCheck::compare_all() {
  const tree::SourceWishes wishes{.follow_links = options_.copy_links};
  if (auto told = tell_wishes(party_.session(kSource), wishes); !told)
    return party_.fail(told.error()), false;
  look_at(kSource, options_.sources.front().path);
  for (std::size_t side = 1; side < merge_.sides(); ++side) look_at(side, party_.host(side).place.path);
  for (;;) {
    take_lists();
    if (!settle_tops()) return true;
    if (party_.hosts().empty()) return !party_.is_over();
    merge();
    const bool listed = merge_.is_over() && asking_ == nullptr;
    if (listed || !party_.room()) party_.flush();
    if (listed && party_.idle()) return true;
    if (!party_.turn()) return false;
  }
}

void TreeCheck::look_at(std::size_t side, const std::string& path) {
  tree::ListJob job;
  job.attributes = options_.metadata && options_.xattrs;
  job.digests = !options_.quick;
  party_.look_at(side, path, job);
}

void TreeCheck::leave_out(std::size_t side) {
  if (merge_.is_left_out(side)) return;
  party_.host(side).counts.entries = merge_.compared(side);
  merge_.leave_out(side);
}

void TreeCheck::take_lists() {
  for (std::size_t side = 0; side < merge_.sides(); ++side) {
    if (!party_.takes_part(side)) leave_out(side);
    if (merge_.is_left_out(side) || !merge_.wants_more(side) || take_list(side)) continue;
    party_.give_up(side, io::plain_error(io::ErrorKind::protocol, "talk to", party_.session(side).name(),
                                         "its list is not in order"));
  }
}

// Returns false if the list is not in order.
bool TreeCheck::take_list(std::size_t side) {
  for (tree::Unlisted& lacks : party_.take_unlisted(side)) merge_.add_unlisted(side, std::move(lacks.path));
  for (tree::Listed& page : party_.take_pages(side)) {
    const bool over = page.over;
    if (!merge_.add(side, std::move(page))) return false;
    if (!over) party_.session(side).tell(tree::ListMore{.pages = 1});
  }
  return true;
}

// Returns false if there is nothing to compare: SRC is missing, which has been reported.
bool TreeCheck::settle_tops() {
  if (merge_.is_empty(kSource)) return false;
  const ListedEntry* const wanted = merge_.next_of(kSource);
  for (std::size_t side = 1; wanted != nullptr && side < merge_.sides(); ++side) {
    if (tops_[side] != Top::known && !merge_.is_left_out(side)) settle_top(side, *wanted);
  }
  return true;
}

// Where SRC is a file and DST a directory, SRC is compared with the file of its name in DST.
void TreeCheck::settle_top(std::size_t side, const ListedEntry& wanted) {
  if (merge_.is_empty(side)) {
    differences(side).missing("", wanted.type);
    leave_out(side);
    return party_.dismiss(side);
  }
  const ListedEntry* const found = merge_.next_of(side);
  if (found == nullptr) return;
  const std::string name = last_name(options_.sources.front().path);
  const bool lies_within = tops_[side] == Top::unknown && wanted.type != EntryType::directory &&
                           found->type == EntryType::directory && !name.empty();
  tops_[side] = lies_within ? Top::within_unknown : Top::known;
  if (!lies_within) return;
  merge_.begin_anew(side);
  std::string path = party_.host(side).place.path;
  if (!path.ends_with('/')) path += '/';
  look_at(side, path + name);
}

bool TreeCheck::tops_are_known() const {
  for (std::size_t side = 1; side < merge_.sides(); ++side) {
    if (tops_[side] != Top::known && !merge_.is_left_out(side)) return false;
  }
  return true;
}

void TreeCheck::merge() {
  if (!tops_are_known()) return;
  while (party_.room()) {
    if (asking_ != nullptr) {
      ask_piece();
    } else if (!merge_.take_next()) {
      return;
    }
  }
}

void TreeCheck::compare(const ListedEntry& wanted, const std::vector<ListMerge::Match>& found) {
  std::vector<std::size_t> to_ask{kSource};
  for (const ListMerge::Match& match : found) {
    if (compare_with(wanted, match)) to_ask.push_back(match.side);
  }
  if (to_ask.size() > 1) compare_content(wanted, std::move(to_ask));
}

// Returns true if it takes questions to compare the contents, and to find where they differ.
bool TreeCheck::compare_with(const ListedEntry& wanted, const ListMerge::Match& match) {
  const ListedEntry& found = match.found;
  Differences& differences = this->differences(match.side);
  if (wanted.type != found.type) return differences.type(wanted.path, wanted.type, found.type), false;
  if (wanted.type == EntryType::symlink && wanted.link_target != found.link_target) {
    differences.content(wanted.path, std::nullopt);
  }
  const bool is_device = wanted.type == EntryType::char_device || wanted.type == EntryType::block_device;
  if (is_device && wanted.device != found.device) {
    differences.metadata(wanted.path, "device", std::to_string(wanted.device), std::to_string(found.device));
  }
  const bool is_file = wanted.type == EntryType::file;
  if (is_file && wanted.size != found.size) differences.size(wanted.path, wanted.size, found.size);
  compare_metadata(wanted, match);
  if (!is_file || wanted.size != found.size || wanted.size == 0 || options_.quick) return false;
  party_.host(match.side).counts.bytes += wanted.size;
  return !(wanted.has_digest && found.has_digest && wanted.digest == found.digest);
}

void TreeCheck::compare_metadata(const ListedEntry& wanted, const ListMerge::Match& match) {
  const ListedEntry& found = match.found;
  Differences& differences = this->differences(match.side);
  const bool is_file = wanted.type == EntryType::file;
  if ((options_.metadata || (options_.quick && is_file)) &&
      (wanted.mtime != found.mtime || wanted.mtime_ns != found.mtime_ns)) {
    differences.metadata(wanted.path, "mtime", time_text(wanted), time_text(found));
  }
  if (!options_.metadata) return;
  if (wanted.type != EntryType::symlink && wanted.mode != found.mode) {
    differences.metadata(wanted.path, "mode", fmt::format("{:04o}", wanted.mode),
                         fmt::format("{:04o}", found.mode));
  }
  if (options_.owner && !same_owner(wanted.user, wanted.uid, found.user, found.uid)) {
    differences.metadata(wanted.path, "owner", owner_text(wanted.user, wanted.uid),
                         owner_text(found.user, found.uid));
  }
  if (options_.owner && !same_owner(wanted.group, wanted.gid, found.group, found.gid)) {
    differences.metadata(wanted.path, "group", owner_text(wanted.group, wanted.gid),
                         owner_text(found.group, found.gid));
  }
  if (wanted.attributes != found.attributes) {
    differences.metadata(wanted.path, "extended attributes or ACL", "", "");
  }
}

// agents: the source's, and those of hosts.
void TreeCheck::compare_content(const ListedEntry& entry, std::vector<std::size_t> agents) {
  asking_ = std::make_shared<Content>();
  asking_->path = entry.path;
  asking_->size = entry.size;
  asking_->left = entry.size > kUnit ? (entry.size + kPiece - 1) / kPiece : 1;
  for (auto agent = agents.begin() + 1; agent != agents.end(); ++agent) {
    asking_->hosts.push_back({*agent, false, std::nullopt});
  }
  asking_->agents = std::move(agents);
}

void TreeCheck::ask_piece() {
  const std::shared_ptr<Content> content = asking_;
  const std::uint64_t left = content->size - content->asked;
  const std::uint64_t unit = content->size > kUnit ? kUnit : 0;
  const SumItem item{content->path, content->asked, std::min(left, kPiece), unit};
  if (item.length == left) asking_.reset();
  content->asked += item.length;
  party_.ask(item, item.length, content->agents,
             [this, content, item](const Replies& replies) { take_piece(*content, item, replies); });
}

// Returns true if both files are still there and of one type and size. Reports what has changed since they
// were listed.
bool TreeCheck::still_alike(const std::string& path, const SumFound& wanted, const Reply& reply) {
  const SumFound& other = reply.found;
  Differences& differences = this->differences(reply.agent);
  if (wanted.state == SumState::unreadable || other.state == SumState::unreadable) return false;
  if (wanted.state != SumState::found && other.state != SumState::found) return false;
  if (other.state != SumState::found) return differences.missing(path, wanted.type), false;
  if (wanted.state != SumState::found) return differences.extra(path, other.type), false;
  if (wanted.type != other.type) return differences.type(path, wanted.type, other.type), false;
  if (wanted.size != other.size) return differences.size(path, wanted.size, other.size), false;
  return true;
}

void TreeCheck::take_piece(Content& content, const SumItem& item, const Replies& replies) {
  const SumFound& wanted = replies.front().found;  // the source's
  for (std::size_t i = 1; i < replies.size(); ++i) {
    Content::AtHost& host =
        *std::ranges::lower_bound(content.hosts, replies[i].agent, {}, &Content::AtHost::agent);
    if (!host.changed) host.changed = !still_alike(content.path, wanted, replies[i]);
    if (host.changed) continue;
    const auto index = first_difference(item, wanted, replies[i].found);
    if (!index) continue;
    const std::uint64_t before = *index * item.unit < item.length ? *index * item.unit : 0;  // 0 if too many
    const std::uint64_t bytes = item.unit == 0 ? item.length : std::min(item.unit, item.length - before);
    const Range range{item.offset + before, bytes};
    if (!host.differs || range < *host.differs) host.differs = range;
  }
  if (--content.left > 0) return;
  Places places;
  for (const Content::AtHost& host : content.hosts) {
    if (!host.changed && host.differs) places[*host.differs].push_back(host.agent);
  }
  narrow(content.path, places);
}

// Finds the first differing byte, which is within these ranges, by digests of ever shorter parts. Hosts that
// differ in the same place are asked together, so that the source reads it once.
void TreeCheck::narrow(const std::string& path, const Places& places) {
  for (const auto& [range, hosts] : places) {
    const auto [offset, length] = range;
    if (length <= 1) {
      for (const std::size_t host : hosts) differences(host).content(path, offset);
      continue;
    }
    const SumItem item{path, offset, length, (length + tree::kSumsMax - 1) / tree::kSumsMax};
    std::vector<std::size_t> agents{kSource};
    agents.insert(agents.end(), hosts.begin(), hosts.end());
    party_.ask(item, length, agents, [this, item](const Replies& replies) { take_narrowed(item, replies); });
  }
  if (!places.empty()) party_.flush();
}

void TreeCheck::take_narrowed(const SumItem& item, const Replies& replies) {
  const SumFound& wanted = replies.front().found;
  Places places;
  for (std::size_t i = 1; i < replies.size(); ++i) {
    if (!still_alike(item.path, wanted, replies[i])) continue;
    const auto index = first_difference(item, wanted, replies[i].found);
    const std::uint64_t before = index.value_or(0) * item.unit;
    // The range differed a moment ago, so a file is changing, and no offset can be given.
    if (!index || before >= item.length) {
      differences(replies[i].agent).content(item.path, std::nullopt);
    } else {
      places[{item.offset + before, std::min(item.unit, item.length - before)}].push_back(replies[i].agent);
    }
  }
  narrow(item.path, places);
}

}  // namespace rdcp::cli
