// A large file on its way in: open, filled by chunks in any order from several streams, then committed or
// dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "io/digest.h"
#include "io/fd.h"
#include "io/ring.h"
#include "net/stream/frame.h"
#include "tree/session/basis_file.h"
#include "tree/session/read_back.h"
#include "tree/session/target_tree.h"

namespace rdcp::tree {

struct TargetFile {
  std::uint64_t id = 0;
  std::string path;     // Entry::path
  std::string subject;  // for messages
  std::uint64_t size = 0;
  std::optional<TargetTree::OpenedFile> opened;  // a new file
  io::Fd overwritten;                            // or the old one, with --inplace; neither: DST is a device
  io::RingFile file;
  std::unique_ptr<BasisFile> old;  // to be probed
  bool stays = false;              // it is the one that is overwritten: what is equal is in its place
  bool asked = false;              // an earlier run has written some of it: the source asks for what
  // Nothing is written: it is only to be known whether the old file is equal.
  bool compares = false;
  // Parts of pages are written, so no page may be written past the page cache any more.
  std::atomic<bool> buffered{false};
  std::atomic<bool> part_dropped{false};

  bool has_name() const { return opened.has_value() || overwritten; }
  // How it is written to.
  io::RingFile place() const {
    io::RingFile how = file;
    if (buffered) how.direct = false;
    return how;
  }
  int fd() const { return opened ? opened->file.fd() : overwritten.get(); }

  // An in-place target without positions takes chunks in their order, whichever stream they come by: they
  // wait for their turn in their slots.
  bool ordered = false;
  std::atomic<std::uint64_t> next_offset{0};

  // Null: nothing is recorded.
  Journal* journal() { return opened && opened->part ? &opened->part->journal() : nullptr; }
  // Takes a chunk into the account.
  void add(std::uint64_t offset, std::uint64_t length, const io::Digest& bytes) {
    std::lock_guard lock(mutex);
    digest.add(offset, length, bytes);
  }
  void remove(const net::Frame& frame) {
    std::lock_guard lock(mutex);
    digest.remove(frame.offset, frame.length, frame.digest);
  }
  io::Digest value() {
    std::lock_guard lock(mutex);
    return digest.value();
  }
  // True for the first failure: the one to be reported.
  bool fail() {
    std::lock_guard lock(mutex);
    return !std::exchange(failed, true);
  }
  bool has_failed() {
    std::lock_guard lock(mutex);
    return failed;
  }

  std::mutex mutex;                  // of what follows
  std::optional<ReadBackFile> back;  // once something was to be read back
  bool takes_chunks = false;         // a slot writes old chunks, and reads them back with what is beside them
  io::FileDigest digest;
  bool failed = false;
};
using TargetFileRef = std::shared_ptr<TargetFile>;

// The files that are open at the target, by the source's file id. Thread-safe.
class TargetFiles {
 public:
  // More than any source opens at once; a peer that wants more breaks the protocol.
  static constexpr std::size_t kOpenMax = 64;

  // False: the id is taken, or too many are open.
  bool add(TargetFileRef file) {
    std::lock_guard lock(mutex_);
    return files_.size() < kOpenMax && files_.try_emplace(file->id, file).second;
  }
  // Null: no such file.
  TargetFileRef find(std::uint64_t id) {
    std::lock_guard lock(mutex_);
    const auto at = files_.find(id);
    return at == files_.end() ? nullptr : at->second;
  }
  // Out of the table, for its last step.
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
  std::unordered_map<std::uint64_t, TargetFileRef> files_;
};

}  // namespace rdcp::tree
