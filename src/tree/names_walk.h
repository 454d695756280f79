// The source's second walk, for --delete: the names in each directory, when all else is settled.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tree/names_page.h"
#include "tree/plan.h"
#include "tree/reporter.h"
#include "tree/work.h"

namespace rdcp::tree {

// Lists directories depth first, each twice, so that nothing is remembered of it. One caller at a time (the
// plan's mutex).
class NamesWalk {
 public:
  // root: a directory; the caller's, outlives this.
  NamesWalk(const Root& root, bool force, Reporter& reporter)
      : root_(root), force_(force), reporter_(reporter) {}

  // The next directories, at most a page's; false at the end, or where nothing may be deleted, which is told.
  bool take(NamesBatch& batch);

  // Fills the slot with the names of batch.differing.front() (its part). 0: they cannot be listed, which has
  // been told, or are so many that they need more parts: batch says so then.
  static std::size_t write_names(const Root& root, NamesBatch& batch, std::span<std::byte> slot,
                                 Reporter& reporter);

 private:
  struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  struct Level {
    std::string path;  // beneath the root
    std::unique_ptr<DIR, CloseDirectory> directory;
    long position = 0;  // where it goes on, while it is closed
  };
  static constexpr std::size_t kHeldOpen = 64;

  bool may_begin();
  bool enter(std::string path, NamesBatch& batch);
  bool reopen(Level& level);
  void step(NamesBatch& batch);

  const Root& root_;
  const bool force_;
  Reporter& reporter_;
  std::vector<Level> levels_;
  bool begun_ = false;
};

}  // namespace rdcp::tree
