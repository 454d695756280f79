// The source's second walk, for --delete: the names in each directory, when all else is settled.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tree/pages/names_page.h"
#include "tree/plan/root.h"
#include "tree/protocol/reporter.h"
#include "tree/select/choice.h"

namespace rdcp::tree {

// Lists directories depth first, each twice, so that nothing is remembered of it. What the rules hide is not
// there.
class NamesWalk {
 public:
  // root: a directory; the caller's, outlives this.
  NamesWalk(const Root& root, const Choice& choice, bool force, Reporter& reporter)
      : root_(root), choice_(choice), force_(force), reporter_(reporter) {}

  // One caller at a time (the plan's mutex): the next directories, at most a page's; false at the end, or
  // where nothing may be deleted, which is told.
  bool take(NamesBatch& batch);

  // Fills the slot with the names of batch.differing.back() (its part). 0: they cannot be listed, which has
  // been told, or are so many that they need more parts: batch says so then.
  std::size_t write_names(NamesBatch& batch, std::span<std::byte> slot) const;

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
  std::optional<bool> counts(const std::string& path, DIR* directory, const dirent& entry) const;
  template <class Use>
  bool list(const std::string& path, DIR* directory, Use use) const;
  bool enter(std::string path, NamesBatch& batch);
  bool reopen(Level& level);
  void step(NamesBatch& batch);

  const Root& root_;
  const Choice& choice_;
  const bool force_;
  Reporter& reporter_;
  std::vector<Level> levels_;
  bool begun_ = false;
  dev_t device_ = 0;  // of the root
};

}  // namespace rdcp::tree
