#include "cli/inspect/pair_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/copy/copy_orders.h"
#include "cli/text/exit_status.h"

namespace rdcp::cli {

using tree::EntryType;
using tree::ListedEntry;
using tree::SumFound;
using tree::SumState;

namespace {

// Files larger than kUnit are compared with a digest for each kUnit bytes, in pieces that several readers may
// read at once.
constexpr std::uint64_t kUnit = 1 << 20;
constexpr std::uint64_t kPiece = tree::kSumsMax * kUnit;
// No more pages are taken from one side while more entries than this wait for the other side.
constexpr std::size_t kWaitingMax = 4096;

constexpr std::size_t kUnlistedMax = 1024;

std::string time_text(const ListedEntry& entry) {
  return fmt::format("{}.{:09}", entry.mtime, std::uint32_t{entry.mtime_ns});
}

bool is_beneath(const std::string& path, const std::string& top) {
  return top.empty() || (path.size() > top.size() && path.starts_with(top) && path[top.size()] == '/');
}

bool is_known(const std::string& path, const std::vector<std::string>& unlisted) {
  return std::ranges::none_of(unlisted,
                              [&](const std::string& top) { return path == top || is_beneath(path, top); });
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

}  // namespace

bool PairCheck::run() {
  if (!party_.start({options_.sources.front(), options_.destination})) return false;
  const tree::SourceWishes wishes{.follow_links = options_.copy_links};
  if (auto told = tell_wishes(party_.session(0), wishes); !told) return party_.fail(told.error()), false;
  look_at(0, options_.sources.front().path);
  look_at(1, options_.destination.path);
  for (;;) {
    if (!take_lists()) return false;
    if (!paired_ && !pair_tops()) return true;  // one of them is not there
    merge();
    const bool listed =
        sides_[0].over && sides_[1].over && sides_[0].entries.empty() && sides_[1].entries.empty();
    if (listed || !party_.room()) party_.flush();
    if (listed && party_.idle()) return true;
    if (!party_.turn()) return false;
  }
}

void PairCheck::look_at(std::size_t side, const std::string& path) {
  tree::ListJob job;
  job.attributes = options_.metadata && options_.xattrs;
  job.digests = !options_.quick;
  party_.look_at(side, path, job);
}

// Checks an entry of a list, because an agent is not trusted to keep the order or to send sound paths.
bool PairCheck::is_in_order(const Side& side, const ListedEntry& entry) const {
  if (!side.begun) return entry.path.empty();
  return !entry.path.empty() && tree::is_safe_path(entry.path) && tree::precedes(side.last, entry.path) &&
         static_cast<unsigned>(entry.type) <= static_cast<unsigned>(EntryType::block_device);
}

// Keeps a bounded list. Where more is missing, nothing counts as known.
void PairCheck::note_unlisted(Side& side, std::string path) {
  if (side.unlisted.size() == kUnlistedMax) side.unlisted.assign(1, "");
  side.unlisted.push_back(std::move(path));
}

bool PairCheck::take_lists() {
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    Side& side = sides_[i];
    if (side.entries.size() > kWaitingMax) continue;
    for (tree::Unlisted& lacks : party_.take_unlisted(i)) note_unlisted(side, std::move(lacks.path));
    for (tree::Listed& page : party_.take_pages(i)) {
      for (ListedEntry& entry : page.entries) {
        if (!is_in_order(side, entry)) {
          party_.fail(io::plain_error(io::ErrorKind::protocol, "talk to", party_.session(i).name(),
                                      "its list is not in order"));
          return false;
        }
        side.begun = true;
        side.last = entry.path;
        side.entries.push_back(std::move(entry));
      }
      side.over = page.over;
      if (!page.over) party_.session(i).tell(tree::ListMore{.pages = 1});
    }
  }
  return true;
}

// If SRC is a file and DST a directory, compares SRC with the file of its name in DST. Returns false if SRC
// or DST is missing, which has been reported.
bool PairCheck::pair_tops() {
  Side& source = sides_[0];
  Side& target = sides_[1];
  if (source.over && !source.begun) return false;
  if (target.over && !target.begun) {
    if (source.entries.empty()) return true;
    differences_.missing("", source.entries.front().type);
    return false;
  }
  if (source.entries.empty() || target.entries.empty()) return true;
  paired_ = true;
  const std::string name = last_name(options_.sources.front().path);
  if (source.entries.front().type == EntryType::directory ||
      target.entries.front().type != EntryType::directory || name.empty()) {
    return true;
  }
  target = {};
  paired_ = false;
  std::string path = options_.destination.path;
  if (!path.ends_with('/')) path += '/';
  look_at(1, path + name);
  return true;
}

// Drops entries beneath a directory that was reported as a whole. Returns true if there were any.
bool PairCheck::drop_skipped() {
  bool dropped = false;
  for (Side& side : sides_) {
    while (side.skipped && !side.entries.empty() && is_beneath(side.entries.front().path, *side.skipped)) {
      side.entries.pop_front();
      dropped = true;
    }
  }
  return dropped;
}

void PairCheck::merge() {
  while (paired_ && party_.room() && merge_one()) {
  }
}

// Takes the next step of the merge. Returns false if nothing can be done before more entries have come.
bool PairCheck::merge_one() {
  if (drop_skipped()) return true;
  Side& source = sides_[0];
  Side& target = sides_[1];
  const bool have[2] = {!source.entries.empty(), !target.entries.empty()};
  if ((!have[0] && !source.over) || (!have[1] && !target.over) || (!have[0] && !have[1])) return false;
  ++counts_.entries;
  const bool only_source =
      have[0] && (!have[1] || tree::precedes(source.entries.front().path, target.entries.front().path));
  const bool only_target =
      have[1] && (!have[0] || tree::precedes(target.entries.front().path, source.entries.front().path));
  if (only_source || only_target) {
    Side& side = only_source ? source : target;
    const ListedEntry entry = std::move(side.entries.front());
    side.entries.pop_front();
    if (entry.type == EntryType::directory) side.skipped = entry.path;
    if (!is_known(entry.path, (only_source ? target : source).unlisted)) return true;  // reported already
    only_source ? differences_.missing(entry.path, entry.type) : differences_.extra(entry.path, entry.type);
    return true;
  }
  const ListedEntry wanted = std::move(source.entries.front());
  const ListedEntry found = std::move(target.entries.front());
  source.entries.pop_front();
  target.entries.pop_front();
  compare(wanted, found);
  return true;
}

void PairCheck::compare(const ListedEntry& wanted, const ListedEntry& found) {
  if (wanted.type != found.type) {
    differences_.type(wanted.path, wanted.type, found.type);
    if (wanted.type == EntryType::directory) sides_[0].skipped = wanted.path;
    if (found.type == EntryType::directory) sides_[1].skipped = found.path;
    return;
  }
  if (wanted.type == EntryType::symlink && wanted.link_target != found.link_target) {
    differences_.content(wanted.path, std::nullopt);
  }
  const bool is_device = wanted.type == EntryType::char_device || wanted.type == EntryType::block_device;
  if (is_device && wanted.device != found.device) {
    differences_.metadata(wanted.path, "device", std::to_string(wanted.device), std::to_string(found.device));
  }
  if (wanted.type == EntryType::file && wanted.size != found.size) {
    differences_.size(wanted.path, wanted.size, found.size);
  } else if (wanted.type == EntryType::file && wanted.size > 0 && !options_.quick) {
    if (wanted.has_digest && found.has_digest && wanted.digest == found.digest) {
      counts_.bytes += wanted.size;
    } else {
      compare_content(wanted);  // which also finds where they differ
    }
  }
  compare_metadata(wanted, found);
}

void PairCheck::compare_metadata(const ListedEntry& wanted, const ListedEntry& found) {
  const bool is_file = wanted.type == EntryType::file;
  if ((options_.metadata || (options_.quick && is_file)) &&
      (wanted.mtime != found.mtime || wanted.mtime_ns != found.mtime_ns)) {
    differences_.metadata(wanted.path, "mtime", time_text(wanted), time_text(found));
  }
  if (!options_.metadata) return;
  if (wanted.type != EntryType::symlink && wanted.mode != found.mode) {
    differences_.metadata(wanted.path, "mode", fmt::format("{:04o}", wanted.mode),
                          fmt::format("{:04o}", found.mode));
  }
  if (options_.owner && !same_owner(wanted.user, wanted.uid, found.user, found.uid)) {
    differences_.metadata(wanted.path, "owner", owner_text(wanted.user, wanted.uid),
                          owner_text(found.user, found.uid));
  }
  if (options_.owner && !same_owner(wanted.group, wanted.gid, found.group, found.gid)) {
    differences_.metadata(wanted.path, "group", owner_text(wanted.group, wanted.gid),
                          owner_text(found.group, found.gid));
  }
  if (wanted.attributes != found.attributes) {
    differences_.metadata(wanted.path, "extended attributes or ACL", "", "");
  }
}

void PairCheck::compare_content(const ListedEntry& entry) {
  counts_.bytes += entry.size;
  auto pieces = std::make_shared<Pieces>();
  pieces->path = entry.path;
  const std::uint64_t unit = entry.size > kUnit ? kUnit : 0;
  const std::uint64_t step = unit == 0 ? entry.size : kPiece;
  pieces->left = (entry.size + step - 1) / step;
  for (std::uint64_t at = 0; at < entry.size; at += step) {
    const std::uint64_t length = std::min(step, entry.size - at);
    const tree::SumItem item{entry.path, at, length, unit};
    party_.ask(item, length, [this, pieces, item](const std::vector<SumFound>& found) {
      take_piece(*pieces, item.offset, item.length, item.unit, found);
    });
  }
}

// Returns true if both files are still there and of one type and size. Reports what has changed since they
// were listed.
bool PairCheck::still_alike(const std::string& path, const std::vector<SumFound>& found) {
  const SumFound& wanted = found[0];
  const SumFound& other = found[1];
  if (wanted.state == SumState::unreadable || other.state == SumState::unreadable) return false;
  if (wanted.state != SumState::found && other.state != SumState::found) return false;
  if (other.state != SumState::found) return differences_.missing(path, wanted.type), false;
  if (wanted.state != SumState::found) return differences_.extra(path, other.type), false;
  if (wanted.type != other.type) return differences_.type(path, wanted.type, other.type), false;
  if (wanted.size != other.size) return differences_.size(path, wanted.size, other.size), false;
  return true;
}

void PairCheck::take_piece(Pieces& pieces, std::uint64_t offset, std::uint64_t length, std::uint64_t unit,
                           const std::vector<SumFound>& found) {
  if (!pieces.changed) pieces.changed = !still_alike(pieces.path, found);
  if (!pieces.changed && found[0].digests != found[1].digests) {
    const auto at = std::ranges::mismatch(found[0].digests, found[1].digests).in1;
    const auto index = static_cast<std::uint64_t>(at - found[0].digests.begin());
    const std::uint64_t skipped = index * unit < length ? index * unit : 0;  // 0 if a side sent too many
    const std::uint64_t first = offset + skipped;
    const std::uint64_t bytes = unit == 0 ? length : std::min(unit, length - skipped);
    if (!pieces.differs || first < pieces.differs->first) pieces.differs = {first, bytes};
  }
  if (--pieces.left > 0 || pieces.changed || !pieces.differs) return;
  narrow(pieces.path, pieces.differs->first, pieces.differs->second);
}

// Finds the first differing byte, which is within this range, by digests of ever shorter parts.
void PairCheck::narrow(const std::string& path, std::uint64_t offset, std::uint64_t length) {
  if (length <= 1) return differences_.content(path, offset);
  const std::uint64_t unit = (length + tree::kSumsMax - 1) / tree::kSumsMax;
  const tree::SumItem item{path, offset, length, unit};
  party_.ask(item, length, [this, item](const std::vector<SumFound>& found) {
    if (!still_alike(item.path, found)) return;
    const auto at = std::ranges::mismatch(found[0].digests, found[1].digests).in1;
    const std::uint64_t before = static_cast<std::uint64_t>(at - found[0].digests.begin()) * item.unit;
    // The range differed a moment ago, so a file is changing, and no offset can be given.
    if (found[0].digests == found[1].digests || before >= item.length) {
      return differences_.content(item.path, std::nullopt);
    }
    narrow(item.path, item.offset + before, std::min(item.unit, item.length - before));
  });
  party_.flush();
}

}  // namespace rdcp::cli
