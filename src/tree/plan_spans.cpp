// Large files of which the target may have something: spans are handed out before extents.
#include <algorithm>

#include "tree/plan.h"
#include "tree/probe.h"

namespace rdcp::tree {

namespace {

// As many spans of a file as keep both sides busy, as far as it has so many blocks.
constexpr std::uint64_t kSpansWanted = 32;
constexpr std::uint64_t kBlocksMin = 8;

std::uint64_t span_bytes(const LargeFile& file) {
  if (file.spans == Spans::ask) return kSpanBlocksMax * file.block_bytes;
  const std::uint64_t blocks = file.size / kSpansWanted / file.block_bytes;
  return std::clamp<std::uint64_t>(blocks, kBlocksMin, kSpanBlocksMax) * file.block_bytes;
}

}  // namespace

// Another file's first span is asked for alone: it tells whether the others are worth it.
std::optional<io::Extent> Plan::next_span(LargeFile& file) {
  const auto span = file.extents->next(span_bytes(file));
  file.reading = span && file.spans == Spans::like;
  return span;
}

bool Plan::settle_span(Work& work, bool failed, std::span<const ProbedBlock> blocks) {
  std::lock_guard lock(mutex_);
  LargeFile& file = *work.file;
  file.failed = file.failed || failed;
  if (work.spans == Spans::like) {
    const bool any = std::ranges::any_of(blocks, &ProbedBlock::present);
    file.reading = false;
    file.spans = any ? Spans::probe : Spans::none;
  }
  if (!file.failed) take_answers(file, blocks);
  if (!file.returned.empty()) make_active(work.file);
  return settle_part(work);
}

// With the mutex held. What is missing is handed out at once, its first part first: so little of it waits,
// and it has just been read.
void Plan::take_answers(LargeFile& file, std::span<const ProbedBlock> blocks) {
  const auto first = static_cast<std::ptrdiff_t>(file.returned.size());
  for (const ProbedBlock& block : blocks) {
    const auto [offset, length] = block.extent;
    if (block.present) {
      if (block.digest) file.digest.add(offset, length, *block.digest);
      continue;
    }
    io::Extent* last =
        static_cast<std::ptrdiff_t>(file.returned.size()) > first ? &file.returned.back() : nullptr;
    if (last != nullptr && last->offset + last->length == offset) {
      last->length += length;
    } else {
      file.returned.push_back(block.extent);
    }
  }
  std::reverse(file.returned.begin() + first, file.returned.end());
}

// With the mutex held.
void Plan::make_active(const LargeFileRef& file) {
  if (std::find(active_.begin(), active_.end(), file) == active_.end()) active_.push_front(file);
}

}  // namespace rdcp::tree
