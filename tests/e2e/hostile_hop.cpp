// Linked before the libraries, so that these take the place of the functions by which a target passes on
// chunks and answers. rdcp_hostile_hop is an rdcp that does as RDCP_HOP says in its environment:
//
//   data      changes one byte of one chunk of a large file, with a digest that fits
//   archive   changes one byte of a small file that consists of many d's, likewise
//   withhold  answers for the targets behind it as if they had what it has itself
//   refuse    answers that nobody can write the bytes of a large file
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "io/digest.h"
#include "tree/streams/passed_chunk.h"
#include "tree/target/merged_answer.h"

namespace rdcp::tree {
namespace {

bool is_to(std::string_view what) {
  const char* word = std::getenv("RDCP_HOP");
  return word != nullptr && word == what;
}

std::atomic<bool> altered{false};

// Returns the byte to change, or null.
std::byte* victim(const net::Frame& frame, std::vector<std::byte>& payload) {
  if (is_to("data") && frame.kind == net::FrameKind::data) return &payload.back();
  if (!is_to("archive") || frame.kind != net::FrameKind::archive) return nullptr;
  const auto found = std::ranges::search_n(payload, 100, std::byte{'d'});
  return found.empty() ? nullptr : &found.front();
}

}  // namespace

void PassedChunk::begin(const net::Frame& frame, std::span<const std::byte> payload, std::size_t nexts,
                        bool) {
  frame_ = frame;
  copy_.assign(payload.begin(), payload.end());
  if (std::byte* const byte = victim(frame, copy_); byte != nullptr && !altered.exchange(true)) {
    *byte ^= std::byte{1};
    frame_.digest = io::digest_of(copy_);
  }
  payload_ = copy_;
  const std::lock_guard lock(desk_.mutex_);
  nexts_ = unanswered_ = nexts;
  answers_.clear();
  ++desk_.under_way_;
}

ChunkAnswer merged(const net::Frame& frame, const ChunkAnswer& own, const ChunkAnswer& behind, bool) {
  if (is_to("refuse") && frame.kind == net::FrameKind::data) return {net::AckStatus::refused, {}};
  return is_to("withhold") ? own : behind;
}

}  // namespace rdcp::tree
