// Keeps account of answers that have consequences for what comes later: those that a source may not have
// heard, and refusals that other targets do not share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "io/digest_set.h"
#include "net/stream/frame.h"

namespace rdcp::tree {

struct CachedReply {
  net::Frame frame;
  net::AckStatus status = net::AckStatus::done;
  net::Verdicts verdicts;
};

// Holds the last answer of each slot of each lost stream: a source that fills a slot again has heard what was
// answered for it. When a chunk that was answered comes again over another stream, it must not count twice.
// Thread-safe.
class ReplyCache {
 public:
  // in_order: bytes are written in order, into a pipe that must not get those of an archive twice.
  void keep(std::span<const std::optional<CachedReply>> answers, bool in_order = false);
  // Returns and forgets the answer that this frame got when it came before.
  std::optional<CachedReply> take(const net::Frame& again);

 private:
  std::mutex mutex_;
  std::vector<CachedReply> answers_;
};

// The files of which this target takes nothing, because it has refused them, or has them already, while other
// targets of the same source still take them. Thread-safe.
class RefusedFiles {
 public:
  // A source has far fewer files open at once. Where every target refuses a file, nothing more comes about
  // it, so the oldest is forgotten when there are this many.
  static constexpr std::size_t kRemembered = 1 << 16;

  // True for a frame about a refused file: it is for the other targets only.
  bool concerns(const net::Frame& frame);
  // Takes note that this frame was refused, if more may come about its file.
  void add(const net::Frame& frame);
  // The file's last frame has come, or the source opens it once more.
  void forget(std::uint64_t file_id);

  // A comparison has found that this target has the file already. Beyond kRemembered of them the file is
  // written once more.
  void note_equal(std::string_view path);
  bool is_equal(std::string_view path);

 private:
  std::mutex mutex_;
  std::set<std::uint64_t> ids_;
  io::DigestSet equal_{kRemembered};
};

}  // namespace rdcp::tree
