#include "tree/session/reply_cache.h"

#include <algorithm>

namespace rdcp::tree {

namespace {

bool is_page(net::FrameKind kind) {
  return kind == net::FrameKind::compare || kind == net::FrameKind::names;
}

// An archive belongs to no one file, and to unpack it into a tree twice does no harm; into a pipe it would
// (see keep()).
bool is_known_again(const net::Frame& frame) {
  return frame.kind == net::FrameKind::open || frame.kind == net::FrameKind::data ||
         frame.kind == net::FrameKind::commit || frame.kind == net::FrameKind::probe || is_page(frame.kind);
}

// The same chunk: a page is known by its digest; of a file's life there is one opening and one commit, its
// data are told apart by position; probes are sent again as they were; what is written in order is one file,
// so there is one archive.
bool is_same(const net::Frame& a, const net::Frame& b) {
  if (a.kind != b.kind || a.file_id != b.file_id) return false;
  if (is_page(a.kind)) return a.digest == b.digest;
  if (a.kind == net::FrameKind::probe) return a.offset == b.offset && a.digest == b.digest;
  return a.kind != net::FrameKind::data || a.offset == b.offset;
}

}  // namespace

void ReplyCache::keep(std::span<const std::optional<CachedReply>> answers, bool in_order) {
  const std::lock_guard lock(mutex_);
  for (const auto& answer : answers) {
    if (!answer) continue;
    const bool archive = answer->frame.kind == net::FrameKind::archive;
    if ((archive && in_order) || is_known_again(answer->frame)) answers_.push_back(*answer);
  }
}

std::optional<CachedReply> ReplyCache::take(const net::Frame& again) {
  const std::lock_guard lock(mutex_);
  const auto at =
      std::ranges::find_if(answers_, [&](const CachedReply& answer) { return is_same(answer.frame, again); });
  if (at == answers_.end()) return std::nullopt;
  const CachedReply answer = *at;
  *at = answers_.back();
  answers_.pop_back();
  return answer;
}

namespace {

// True for the frames that need a file that is open.
bool is_about_open_file(net::FrameKind kind) {
  switch (kind) {
    case net::FrameKind::data:
    case net::FrameKind::probe:
    case net::FrameKind::ask:
    case net::FrameKind::copy_range:
    case net::FrameKind::commit:
    case net::FrameKind::abandon:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool RefusedFiles::concerns(const net::Frame& frame) {
  const std::lock_guard lock(mutex_);
  return is_about_open_file(frame.kind) && ids_.contains(frame.file_id);
}

void RefusedFiles::add(const net::Frame& frame) {
  if (frame.kind != net::FrameKind::open && !is_about_open_file(frame.kind)) return;
  const std::lock_guard lock(mutex_);
  ids_.insert(frame.file_id);
  if (ids_.size() > kRemembered) ids_.erase(ids_.begin());
}

void RefusedFiles::forget(std::uint64_t file_id) {
  const std::lock_guard lock(mutex_);
  ids_.erase(file_id);
}

void RefusedFiles::note_equal(std::string_view path) {
  (void)equal_.add(path);
}

bool RefusedFiles::is_equal(std::string_view path) {
  return equal_.has(path);
}

}  // namespace rdcp::tree
