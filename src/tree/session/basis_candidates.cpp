#include "tree/session/basis_candidates.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tree/fs/directory_reader.h"
#include "tree/fs/own_names.h"
#include "tree/meta/entry.h"

namespace rdcp::tree {

namespace {

// The most candidates of one size that are looked at, so that a search stays short.
constexpr std::size_t kCandidatesMax = 64;

}  // namespace

std::optional<EntryPath> BasisCandidates::find(int root, EntryPathView path, std::uint64_t size,
                                               const Timestamp& mtime) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(walked_, true)) walk(root);
  const auto at = by_size_.find(size);
  if (at == by_size_.end()) return std::nullopt;
  const std::string_view name = path.name();
  const auto likeness = [&](const File& file) {
    return (file.mtime == mtime ? 2 : 0) + (EntryPathView(file.path).name() == name ? 1 : 0);
  };
  return std::ranges::max_element(at->second, {}, likeness)->path;
}

void BasisCandidates::walk(int root) {
  struct stat status {};
  if (::fstat(root, &status) != 0) return;
  std::vector<EntryPath> waiting(1);
  while (!waiting.empty() && count_ < kFilesMax) {
    const EntryPath path = std::move(waiting.back());
    waiting.pop_back();
    DirectoryReader directory = DirectoryReader::open(root, path);
    if (directory) list(directory, path, status.st_dev, waiting);
  }
}

// A file that cannot be read is not a candidate, nor is one that a run is writing: it may be the part of the
// very file that is looked for.
void BasisCandidates::list(DirectoryReader& directory, const EntryPath& path, std::uint64_t device,
                           std::vector<EntryPath>& waiting) {
  while (const dirent* entry = directory.next()) {
    const std::string_view name = entry->d_name;
    if (own_name(name) != OwnName::none) continue;
    const bool of_use = entry->d_type == DT_DIR || entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN;
    struct stat status {};
    if (!of_use || ::fstatat(directory.fd(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        status.st_dev != device) {
      continue;
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (S_ISDIR(status.st_mode) && waiting.size() < kDirectoriesMax) {
      waiting.push_back(EntryPath::beneath(path, name));
    } else if (S_ISREG(status.st_mode) && size >= kBytesMin && count_ < kFilesMax) {
      std::vector<File>& files = by_size_[size];
      if (files.size() == kCandidatesMax) continue;
      ++count_;
      files.push_back({EntryPath::beneath(path, name),
                       {status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)}});
    }
  }
}

}  // namespace rdcp::tree
