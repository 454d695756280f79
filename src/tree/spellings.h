// Names of the source that differ in upper and lower case only, where the target takes them for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/digest.h"
#include "io/result.h"

namespace rdcp::tree {

// Says of each name whether another spelling of it has come in this run. On an ordinary target nothing is
// remembered and nothing asked. Thread-safe after begin(). Remembers at most kRemembered names.
class Spellings {
 public:
  // Before the workers start. root: the directory beneath which all is put. own_name: of a file that this run
  // has in it, with lower-case letters; empty: none.
  void begin(int root, const std::string& own_name);

  // Error, about `subject`: another spelling of path, or of a directory above it, was claimed before.
  io::Result<void> claim(std::string_view path, std::string_view subject);
  // There were more names than are remembered, so that not each pair was found.
  bool is_full() const;

  static constexpr std::size_t kRemembered = 4 << 20;

 private:
  struct Hash {
    std::size_t operator()(const io::Digest& digest) const;
  };
  bool claim_one(std::string_view path);

  bool watches_ = false;
  mutable std::mutex mutex_;
  std::unordered_map<io::Digest, std::uint64_t, Hash> claimed_;  // by the folded name: which spelling
  std::string parent_;                                           // of the last claim, claimed with it
};

// The name with its letters in upper case, as filesystems compare names; what is not UTF-8 stays as it is.
std::string fold_case(std::string_view name);

}  // namespace rdcp::tree
