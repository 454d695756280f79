// Finds names of the source that differ only in upper and lower case, if the target takes them for one name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/digest.h"
#include "io/result.h"
#include "tree/meta/entry_path.h"

namespace rdcp::tree {

// Tells whether another spelling of a name has come in this run. If the target is case-sensitive, it
// remembers and checks nothing. Thread-safe after begin(). Remembers at most kRemembered names.
class Spellings {
 public:
  // To be called before the workers start. root is the directory beneath which everything is put. own_name is
  // the name of a file of this run in it that has lower-case letters; if it is empty, and may_make is true,
  // such a file is made for a moment.
  void begin(int root, const std::string& own_name, bool may_make = false);

  // Returns an Error about `subject` if another spelling of path, or of a directory above it, was claimed
  // before.
  io::Result<void> claim(EntryPathView path, std::string_view subject);
  // False if claim() checks nothing.
  bool watches() const { return watches_; }
  // True if there were more names than are remembered, so that not every pair was found.
  bool is_full() const;

  static constexpr std::size_t kRemembered = 4 << 20;

 private:
  struct Hash {
    std::size_t operator()(const io::Digest& digest) const;
  };
  bool claim_one(std::string_view path);

  bool watches_ = false;
  mutable std::mutex mutex_;
  std::unordered_map<io::Digest, std::uint64_t, Hash> claimed_;  // by folded name: hash of the spelling
  std::string parent_;                                           // the last one that was claimed
};

// Returns the name with its letters in upper case, as filesystems compare names. Bytes that are not UTF-8
// stay as they are.
std::string fold_case(std::string_view name);

}  // namespace rdcp::tree
