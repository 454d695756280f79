#include "tree/session/chunk_index.h"

#include <algorithm>
#include <tuple>

namespace rdcp::tree {

void ChunkIndex::add(std::span<const std::byte> bytes) {
  while (!bytes.empty() && !is_full()) {
    const std::size_t taken = chunker_.take(bytes);
    running_.add(bytes.first(taken));
    end_ += taken;
    bytes = bytes.subspan(taken);
    if (chunker_.ended()) end_chunk();
  }
}

void ChunkIndex::end_chunk() {
  entries_.push_back({running_.finish(), begin_, end_ - begin_});
  begin_ = end_;
}

void ChunkIndex::finish() {
  if (end_ > begin_ && !is_full()) end_chunk();
  const auto order = [](const Entry& entry) { return std::tie(entry.digest.bytes, entry.offset); };
  std::ranges::sort(entries_, {}, order);
}

std::optional<std::uint64_t> ChunkIndex::find(const io::Digest& digest, std::uint64_t length) const {
  const auto at = std::ranges::lower_bound(entries_, digest.bytes, {},
                                           [](const Entry& entry) { return entry.digest.bytes; });
  if (at == entries_.end() || at->digest != digest || at->length != length) return std::nullopt;
  return at->offset;
}

}  // namespace rdcp::tree
