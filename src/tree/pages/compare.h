// The page of a compare frame: what the source has, as questions to the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/bytes.h"
#include "io/digest.h"
#include "io/result.h"
#include "tree/guards/admitted_names.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// One item of the source. Only digests of its xattrs and of a file's content travel.
struct Question {
  Entry entry;          // without xattrs and data
  io::Digest xattrs{};  // see digest_of_xattrs(); all zero if there are none
  std::optional<io::Digest> content;
  EntryType linked = EntryType::file;  // hard_link: type of the file it names
  bool first_changes = false;          // hard_link: the first name is going to get another inode
};

// On the wire, little-endian: the number of questions (u32), then for each
//
//    type u8, flags u8, bytes shared with the last path u32, further bytes u32, these, mode u16,
//    uid u32, gid u32, user, group (u8 and bytes each)    unless the last one has the same owner
//    mtime i64, its nanoseconds u32
//    size u64 (file) | u32 and bytes (symlink, hard link, the latter with its linked type u8) | device u64
//    digest of the xattrs (16), of the content (16)       if flags say so
//    two ACLs: lines u16, each tag u8, permissions u8, id u32, name (u8 and bytes)    if flags say so
inline constexpr std::size_t kQuestionPathMax = 64 << 10;

// Fills a slot with questions. Reusable; not thread-safe.
class QuestionWriter {
 public:
  void begin(std::span<std::byte> slot);
  // Returns false, and adds nothing, if the question does not fit any more, or has a path or link target
  // longer than kQuestionPathMax.
  bool add(const Question& question);
  std::size_t count() const { return count_; }
  // Returns the page's length.
  std::size_t finish();

 private:
  std::span<std::byte> slot_;
  io::ByteWriter to_;
  std::size_t count_ = 0;
  std::string path_;
  Entry owner_;  // only the last question's owner
};

// Reads a page from a peer. Every fault is a protocol Error, and nothing is allocated beyond a path's bound.
class QuestionReader {
 public:
  // names must outlive this.
  explicit QuestionReader(const AdmittedNames& names) : names_(names) {}
  io::Result<void> open(std::span<const std::byte> page);
  // Fills question, reusing its memory. Returns false at the end.
  io::Result<bool> next(Question& question);

 private:
  const char* take(Question& question);

  const AdmittedNames& names_;
  std::string last_path_;
  std::span<const std::byte> rest_;
  std::size_t left_ = 0;
};

// Returns the digest of the names and values, sorted; all zero if there are none.
io::Digest digest_of_xattrs(const Entry& entry);

}  // namespace rdcp::tree
