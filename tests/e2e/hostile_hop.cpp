// Linked before the libraries, so that these take the place of the functions by which a target passes on
// chunks and answers. rdcp_hostile_hop is an rdcp that does as RDCP_HOP says in its environment:
//
//   data      changes one byte of one chunk of a large file, with a digest that fits
//   archive   changes one byte of a small file that consists of many d's, likewise
//   withhold  answers for the targets behind it as if they had what it has itself
//   refuse    answers that nobody can write the bytes of a large file
//   order     writes the chunk with a hard link into the file RDCP_HOP_LINK; if that is there, passes on what
//   it
//             says before the file that the link leads to, and that in the place of the link
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
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

bool has(std::span<const std::byte> payload, std::string_view text) {
  return !std::ranges::search(payload, std::as_bytes(std::span(text))).empty();
}

bool has_content(std::span<const std::byte> payload) {
  return !std::ranges::search_n(payload, 100, std::byte{'d'}).empty();
}

// Has two chunks change places. What a source sends for a link can be foretold from an earlier copy.
class Exchange {
 public:
  void pass(net::Frame& frame, std::vector<std::byte>& payload) {
    if (frame.kind != net::FrameKind::archive) return;
    const std::lock_guard lock(mutex_);
    const bool is_link = has(payload, "linked") && has(payload, "small-100") && !has_content(payload);
    if (has_content(payload) && std::filesystem::exists(path_)) {
      first_ = std::pair(frame, std::move(payload));
      std::ifstream file(path_, std::ios::binary);
      file.read(reinterpret_cast<char*>(&frame), sizeof frame);
      const std::vector<char> text(std::istreambuf_iterator<char>(file), {});
      payload.assign(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end());
    } else if (is_link && first_) {
      std::tie(frame, payload) = *std::exchange(first_, std::nullopt);
    } else if (is_link) {
      std::ofstream file(path_, std::ios::binary);
      file.write(reinterpret_cast<const char*>(&frame), sizeof frame);
      file.write(reinterpret_cast<const char*>(payload.data()), static_cast<std::streamsize>(payload.size()));
    }
  }

 private:
  const std::filesystem::path path_ = std::getenv("RDCP_HOP_LINK");
  std::mutex mutex_;
  std::optional<std::pair<net::Frame, std::vector<std::byte>>> first_;
};

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
  if (is_to("order")) {
    static Exchange exchange;
    exchange.pass(frame_, copy_);
  }
  payload_ = copy_;
  const std::lock_guard lock(desk_.mutex_);
  nexts_ = unanswered_ = nexts;
  answers_.clear();
  ++desk_.under_way_;
}

ChunkAnswer merged(const net::Frame& frame, const ChunkAnswer& own, const ChunkAnswer& behind, bool) {
  if (is_to("refuse") && frame.kind == net::FrameKind::data) return {net::AckStatus::refused, {}};
  return is_to("withhold") || is_to("order") ? own : behind;
}

}  // namespace rdcp::tree
