#include "cli/check/list_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/options/known_file.h"
#include "cli/text/process.h"
#include "io/digest.h"

namespace rdcp::cli {

using tree::EntryType;
using tree::SumFound;
using tree::SumLine;
using tree::SumState;

namespace {

std::uint64_t number_of(const std::string& path) {
  return io::check_of(std::as_bytes(std::span(path)));
}

std::string time_text(std::int64_t seconds, std::uint32_t nanoseconds) {
  return fmt::format("{}.{:09}", seconds, nanoseconds);
}

// Opens the list. One that comes by a pipe is read before anything is compared, so that a signal ends the
// wait for it.
io::Result<tree::SumReader> open_list(const std::string& path, tree::SumForm form) {
  constexpr std::size_t kPipedMax = 1 << 30;
  if (!is_read_once(path)) return tree::SumReader::open(path, form);
  auto text = read_list(path, kPipedMax);
  if (!text) return text.error();
  return tree::SumReader::of_text(std::move(*text), path, form);
}

}  // namespace

bool ListCheck::run(const std::vector<CheckedHost*>& hosts, bool leave_late) {
  manifest_ = !options_.manifest_file.empty();
  const std::string& path = manifest_ ? options_.manifest_file : options_.sums_file;
  auto reader = open_list(path, manifest_ ? tree::SumForm::manifest : tree::SumForm::xxhsum);
  if (!reader) {
    const int signal = end_is_asked_for();
    return signal != 0 ? party_.end_by_signal(signal) : party_.fail(reader.error()), false;
  }
  // A list that comes by a pipe cannot be read once more for hosts that are late.
  if (!party_.start(nullptr, hosts, leave_late && !is_read_once(path))) return false;
  for (const std::size_t host : party_.hosts()) party_.look_at(host, party_.host(host).place.path);
  return check_lines(*reader) && (!manifest_ || find_extras());
}

bool ListCheck::check_lines(tree::SumReader& reader) {
  for (bool over = false; !over || !party_.idle();) {
    while (!over && party_.room()) {
      SumLine line;
      const auto read = reader.next(line);
      if (!read) return party_.fail(read.error()), false;
      over = !*read;
      if (!over) ask(line);
    }
    party_.flush();
    if (!party_.idle() && !party_.turn()) return false;
  }
  return true;
}

void ListCheck::ask(const SumLine& line) {
  if (manifest_) seen_.push_back(number_of(line.path));
  const bool has_digest =
      line.type == EntryType::symlink || (line.type == EntryType::file && !options_.quick);
  const tree::SumItem item{line.path, 0, has_digest ? tree::kToTheEnd : 0, 0};
  const std::uint64_t bytes = has_digest ? line.size : 0;
  for (const std::size_t host : party_.hosts()) {
    ++party_.host(host).counts.entries;
    party_.host(host).counts.bytes += bytes;
  }
  party_.ask(item, bytes, party_.hosts(), [this, line, has_digest](const Replies& replies) {
    for (const Reply& reply : replies) judge(line, has_digest, reply);
  });
}

// has_digest: one was asked for. Where none came, the file became shorter before anything of it was read.
void ListCheck::judge(const SumLine& line, bool has_digest, const Reply& reply) {
  const SumFound& found = reply.found;
  Differences& differences = party_.host(reply.agent).differences;
  if (found.state == SumState::unreadable) return;  // it has been reported
  if (found.state == SumState::missing) return differences.missing(line.path, line.type);
  if (found.type != line.type) return differences.type(line.path, line.type, found.type);
  if (line.has_facts && line.type == EntryType::file && line.size != found.size) {
    return differences.size(line.path, line.size, found.size);
  }
  if (has_digest && (found.digests.empty() || found.digests.front() != line.digest.bytes)) {
    differences.content(line.path, std::nullopt);
  }
  const bool times = options_.metadata || (options_.quick && line.type == EntryType::file);
  if (line.has_facts && times && (line.mtime != found.mtime || line.mtime_ns != found.mtime_ns)) {
    differences.metadata(line.path, "mtime", time_text(line.mtime, line.mtime_ns),
                         time_text(found.mtime, found.mtime_ns));
  }
}

// Reports what the trees have and the list does not name.
bool ListCheck::find_extras() {
  std::sort(seen_.begin(), seen_.end());
  std::map<std::size_t, Extras> extras;
  for (const std::size_t host : party_.hosts()) extras[host];
  for (;;) {
    for (auto& [host, found] : extras) {
      if (!found.over && party_.takes_part(host)) find_extras_of(host, found);
    }
    const auto is_over = [&](const auto& one) { return one.second.over || !party_.takes_part(one.first); };
    if (std::ranges::all_of(extras, is_over)) return true;
    if (!party_.turn()) return false;
  }
}

void ListCheck::find_extras_of(std::size_t host, Extras& extras) {
  Differences& differences = party_.host(host).differences;
  std::string& skipped = extras.skipped;
  for (tree::Listed& page : party_.take_pages(host)) {
    for (const tree::ListedEntry& entry : page.entries) {
      if (entry.path.empty() || (!skipped.empty() && entry.path.starts_with(skipped))) continue;
      if (std::binary_search(seen_.begin(), seen_.end(), number_of(entry.path))) continue;
      differences.extra(entry.path, entry.type);
      if (entry.type == EntryType::directory) skipped = entry.path + "/";
    }
    extras.over = page.over;
    if (!page.over) party_.session(host).tell(tree::ListMore{.pages = 1});
  }
}

}  // namespace rdcp::cli
