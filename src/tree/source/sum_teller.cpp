#include "tree/source/sum_teller.h"

#include <utility>

namespace rdcp::tree {
namespace {

constexpr std::size_t kMessageTextBytes = 64 << 10;

}  // namespace

SumLine line_of(const Entry& entry, std::span<const std::byte> content) {
  SumLine line;
  line.type = entry.type;
  line.path = entry.path.text();
  line.mtime = entry.mtime.seconds;
  line.mtime_ns = entry.mtime.nanoseconds;
  if (entry.type == EntryType::hard_link) line.first_name = entry.first_name.text();
  if (entry.type == EntryType::file) {
    line.size = content.size();
    line.digest = io::digest_of(content);
  } else if (entry.type == EntryType::symlink) {
    line.digest = io::digest_of(std::as_bytes(std::span(entry.link_target)));
  }
  return line;
}

void SumTeller::add(std::vector<SumLine> lines) {
  std::lock_guard lock(mutex_);
  for (SumLine& line : lines) {
    if (std::exchange(line.linked, false)) linked_.emplace(line.path, line);
    if (line.type == EntryType::hard_link) {
      const auto first = linked_.find(line.first_name);
      if (first == linked_.end()) continue;  // that was not copied, which has been reported
      const std::string path = std::exchange(line.path, {});
      line = first->second;
      line.path = path;
    }
    if (!top_.empty() && line.path.starts_with(top_)) {
      line.path.erase(0, line.path.size() > top_.size() ? top_.size() + 1 : top_.size());
    }
    gathered_bytes_ += line.path.size() + 64;
    gathered_.lines.push_back(std::move(line));
  }
  if (gathered_bytes_ >= kMessageTextBytes) flush();
}

void SumTeller::finish() {
  std::lock_guard lock(mutex_);
  flush();
}

void SumTeller::flush() {
  if (!gathered_.lines.empty()) sink_(gathered_);
  gathered_.lines.clear();
  gathered_bytes_ = 0;
}

}  // namespace rdcp::tree
