#include "cli/inspect/list_check.h"

#include <fmt/core.h>

#include <algorithm>
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

bool ListCheck::run() {
  manifest_ = !options_.manifest_file.empty();
  auto reader = open_list(manifest_ ? options_.manifest_file : options_.sums_file,
                          manifest_ ? tree::SumForm::manifest : tree::SumForm::xxhsum);
  if (!reader) {
    const int signal = end_is_asked_for();
    return signal != 0 ? party_.end_by_signal(signal) : party_.fail(reader.error()), false;
  }
  if (!party_.start({options_.destination})) return false;
  party_.look_at(0, options_.destination.path);
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
  ++counts_.entries;
  if (manifest_) seen_.push_back(number_of(line.path));
  const bool has_digest =
      line.type == EntryType::symlink || (line.type == EntryType::file && !options_.quick);
  const tree::SumItem item{line.path, 0, has_digest ? tree::kToTheEnd : 0, 0};
  const std::uint64_t bytes = has_digest ? line.size : 0;
  counts_.bytes += bytes;
  party_.ask(item, bytes, [this, line](const std::vector<SumFound>& found) { judge(line, found.front()); });
}

void ListCheck::judge(const SumLine& line, const SumFound& found) {
  if (found.state == SumState::unreadable) return;  // it has been reported
  if (found.state == SumState::missing) return differences_.missing(line.path, line.type);
  if (found.type != line.type) return differences_.type(line.path, line.type, found.type);
  if (line.has_facts && line.type == EntryType::file && line.size != found.size) {
    return differences_.size(line.path, line.size, found.size);
  }
  if (!found.digests.empty() && found.digests.front() != line.digest.bytes) {
    differences_.content(line.path, std::nullopt);
  }
  const bool times = options_.metadata || (options_.quick && line.type == EntryType::file);
  if (line.has_facts && times && (line.mtime != found.mtime || line.mtime_ns != found.mtime_ns)) {
    differences_.metadata(line.path, "mtime", time_text(line.mtime, line.mtime_ns),
                          time_text(found.mtime, found.mtime_ns));
  }
}

// Reports what the tree has and the list does not name.
bool ListCheck::find_extras() {
  std::sort(seen_.begin(), seen_.end());
  std::string skipped;
  for (;;) {
    for (tree::Listed& page : party_.take_pages(0)) {
      for (const tree::ListedEntry& entry : page.entries) {
        if (entry.path.empty() || (!skipped.empty() && entry.path.starts_with(skipped))) continue;
        if (std::binary_search(seen_.begin(), seen_.end(), number_of(entry.path))) continue;
        differences_.extra(entry.path, entry.type);
        if (entry.type == EntryType::directory) skipped = entry.path + "/";
      }
      if (page.over) return true;
      party_.session(0).tell(tree::ListMore{.pages = 1});
    }
    if (!party_.turn()) return false;
  }
}

}  // namespace rdcp::cli
