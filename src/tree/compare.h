// The page of a compare frame: what the source has, as questions to the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/digest.h"
#include "io/result.h"
#include "tree/admitted_names.h"
#include "tree/entry.h"

namespace rdcp::tree {

// One item of the source. Of xattrs only the digest travels, and of a file's content.
struct Question {
  Entry entry;          // no xattrs, no data
  io::Digest xattrs{};  // see digest_of_xattrs(); all zero: none
  std::optional<io::Digest> content;
  EntryType linked = EntryType::file;  // hard_link: what it is a name of
  bool first_changes = false;          // hard_link: link_target will be another inode than it is now
};

// On the wire, little-endian: the number of questions (u32), then for each
//
//    type u8, flags u8, bytes shared with the last path u32, further bytes u32, these, mode u16,
//    uid u32, gid u32, user, group (u8 and bytes each)    unless it has the last one's owner
//    mtime i64, its nanoseconds u32
//    size u64 (file) | u32 and bytes (symlink, hard link, the latter with its linked type u8) | device u64
//    digest of the xattrs (16), of the content (16)       where flags say so
//    two ACLs: lines u16, each tag u8, permissions u8, id u32, name (u8 and bytes)    where flags say so
inline constexpr std::size_t kQuestionPathMax = 64 << 10;

// Fills a slot. Not thread-safe; reusable.
class QuestionWriter {
 public:
  void begin(std::span<std::byte> slot);
  // False where it does not fit any more, or has a path or link target beyond kQuestionPathMax: nothing of
  // it was added then.
  bool add(const Question& question);
  std::size_t count() const { return count_; }
  // The page's length.
  std::size_t finish();

 private:
  std::span<std::byte> slot_;
  std::size_t used_ = 0;
  std::size_t count_ = 0;
  std::string path_;
  Entry owner_;  // the last one's
};

// What comes from a peer: every fault is a protocol Error, nothing is allocated beyond a path's bound.
class QuestionReader {
 public:
  // names: outlives this.
  explicit QuestionReader(const AdmittedNames& names) : names_(names) {}
  io::Result<void> open(std::span<const std::byte> page);
  // Fills question, reusing its memory; false at the end.
  io::Result<bool> next(Question& question);

 private:
  const char* take(Question& question);

  const AdmittedNames& names_;
  std::span<const std::byte> rest_;
  std::size_t left_ = 0;
};

// Of names and values, sorted; all zero where there are none.
io::Digest digest_of_xattrs(const Entry& entry);

}  // namespace rdcp::tree
