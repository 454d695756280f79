// Lists the target's large files by size, to find one that was moved or renamed at the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tree/fs/directory_reader.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

// Thread-safe. Walks the tree once, at the first find(), beneath the root and on its filesystem only. Memory
// is bounded: files beyond kFilesMax are not listed.
class BasisCandidates {
 public:
  static constexpr std::uint64_t kBytesMin = 1 << 20;
  static constexpr std::size_t kFilesMax = 1 << 17;
  static constexpr std::size_t kDirectoriesMax = 1 << 16;  // directories that may wait to be listed

  // Returns the path of a file of this size. One with the same mtime is preferred to one of the same name,
  // and that to any other.
  std::optional<EntryPath> find(int root, EntryPathView path, std::uint64_t size, const Timestamp& mtime);

 private:
  struct File {
    EntryPath path;
    Timestamp mtime;
  };
  void walk(int root);
  void list(DirectoryReader& directory, const EntryPath& path, std::uint64_t device,
            std::vector<EntryPath>& waiting);

  std::mutex mutex_;
  bool walked_ = false;
  std::size_t count_ = 0;
  std::unordered_map<std::uint64_t, std::vector<File>> by_size_;
};

}  // namespace rdcp::tree
