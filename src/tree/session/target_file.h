// A large file that the target receives: opened, filled by chunks in any order, then committed or dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "io/digest.h"
#include "io/extent_set.h"
#include "io/fd.h"
#include "io/ring.h"
#include "net/stream/frame.h"
#include "tree/session/basis_file.h"
#include "tree/session/read_back.h"
#include "tree/session/target_tree.h"

namespace rdcp::tree {

struct TargetFile {
  std::uint64_t id = 0;      // the source's
  std::uint64_t serial = 0;  // ours, which no two files of a run have
  EntryPath path;
  std::string subject;  // for messages
  std::uint64_t size = 0;
  std::optional<TargetTree::OpenedFile> opened;  // the new file
  io::Fd overwritten;                            // the old file, with --inplace; neither of both for a device
  io::RingFile file;
  std::unique_ptr<BasisFile> old;  // the file that probes are compared with
  bool stays = false;              // `old` is the file that is overwritten: equal blocks are in place already
  bool asked = false;              // an earlier run has written some of it, and the source asks which pieces
  bool compares = false;           // nothing is written: it is only compared with the old one
  // Parts of pages are written, so no page may be written past the page cache any more.
  std::atomic<bool> buffered{false};
  std::atomic<bool> part_dropped{false};

  bool has_name() const { return opened.has_value() || overwritten; }
  // Returns the file as writes should use it.
  io::RingFile place() const {
    io::RingFile how = file;
    if (buffered) how.direct = false;
    return how;
  }
  int fd() const { return opened ? opened->file.fd() : overwritten.get(); }

  // An in-place target without positions is written in order: chunks of all streams wait for their turn.
  bool ordered = false;
  std::atomic<std::uint64_t> next_offset{0};

  // Returns null if nothing is recorded.
  Journal* journal() { return opened && opened->part ? &opened->part->journal() : nullptr; }
  // Whether an earlier run has left some of the file.
  bool has_part() {
    const Journal* const kept = journal();
    return kept != nullptr && kept->has_any();
  }
  // Adds a chunk to the file's digest.
  void add(std::uint64_t offset, std::uint64_t length, const io::Digest& bytes) {
    std::lock_guard lock(mutex);
    digest.add(offset, length, bytes);
    missing.remove({offset, length});
  }
  // Notes that the extent is there, without a digest.
  void have(const io::Extent& extent) {
    std::lock_guard lock(mutex);
    missing.remove(extent);
  }
  // Notes that the source is told that the extent is missing. Returns false if too much is missing: a source
  // sends what is missing before it asks about much more.
  bool want(const io::Extent& extent) {
    std::lock_guard lock(mutex);
    missing.add(extent);
    return missing.count() <= kMissingMost;
  }
  static constexpr std::size_t kMissingMost = 1 << 18;  // extents that do not touch each other
  // Returns true if something that the source was told is missing has not come: another host on the answer's
  // way may have said that nothing is. A file that has become shorter lacks nothing behind its end.
  bool lacks_before(std::uint64_t end) {
    std::lock_guard lock(mutex);
    return missing.has_any_before(end);
  }
  void remove(const net::Frame& frame) {
    std::lock_guard lock(mutex);
    digest.remove(frame.offset, frame.length, frame.digest);
  }
  io::Digest value() {
    std::lock_guard lock(mutex);
    return digest.value();
  }
  // Notes a failure. Returns true for the first one, which the caller reports.
  bool fail() {
    std::lock_guard lock(mutex);
    return !std::exchange(failed, true);
  }
  bool has_failed() {
    std::lock_guard lock(mutex);
    return failed;
  }

  std::mutex mutex;                  // guards the members below
  std::optional<ReadBackFile> back;  // set when something is first read back
  bool takes_chunks = false;         // a slot writes old chunks, and reads them back with their whole pages
  io::FileDigest digest;
  io::ExtentSet missing;  // what the source was told is missing, until it comes
  bool failed = false;
};
using TargetFileRef = std::shared_ptr<TargetFile>;

// The files that are open at the target, by the source's file id. Thread-safe.
class TargetFiles {
 public:
  // More than any source opens at once; a peer that wants more breaks the protocol.
  static constexpr std::size_t kOpenMax = 64;

  // Returns false if the id is taken, or too many are open.
  bool add(TargetFileRef file) {
    std::lock_guard lock(mutex_);
    file->serial = ++serials_;
    return files_.size() < kOpenMax && files_.try_emplace(file->id, file).second;
  }
  // Returns null if there is no such file.
  TargetFileRef find(std::uint64_t id) {
    std::lock_guard lock(mutex_);
    const auto at = files_.find(id);
    return at == files_.end() ? nullptr : at->second;
  }
  // Takes the file out of the table for its last step; returns null if there is no such file.
  TargetFileRef take(std::uint64_t id) {
    std::lock_guard lock(mutex_);
    const auto at = files_.find(id);
    if (at == files_.end()) return nullptr;
    TargetFileRef file = std::move(at->second);
    files_.erase(at);
    return file;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    files_.clear();
  }

 private:
  std::mutex mutex_;
  std::uint64_t serials_ = 0;
  std::unordered_map<std::uint64_t, TargetFileRef> files_;
};

}  // namespace rdcp::tree
