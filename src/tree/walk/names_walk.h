// The source's second walk, for --delete: the names in each directory, when all else is settled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tree/fs/directory_reader.h"
#include "tree/meta/file_id.h"
#include "tree/pages/names_page.h"
#include "tree/plan/root.h"
#include "tree/protocol/reporter.h"
#include "tree/select/choice.h"

namespace rdcp::tree {

// Lists directories depth first, each twice, so that nothing has to be remembered. Entries that the rules
// hide are left out.
class NamesWalk {
 public:
  // root is a directory; it belongs to the caller and outlives this.
  NamesWalk(const Root& root, const Choice& choice, bool force, Reporter& reporter)
      : root_(root), choice_(choice), force_(force), reporter_(reporter) {}

  // Takes the next directories, at most a page of them, for one caller at a time (the plan's mutex). Returns
  // false at the end, or if nothing may be deleted, which it reports.
  bool take(NamesBatch& batch);

  // Fills the slot with the names of batch.differing.back() (its part), and returns the bytes. Returns 0 if
  // they cannot be listed, which it reports, or need more parts, which it notes in batch.
  std::size_t write_names(NamesBatch& batch, std::span<std::byte> slot) const;

 private:
  struct Level {
    std::string path;  // beneath the root
    DirectoryReader directory;
    long position = 0;  // where the listing goes on when it is reopened
    FileId id;
  };
  static constexpr std::size_t kHeldOpen = 64;

  bool may_begin();
  std::optional<bool> counts(const std::string& path, const DirectoryReader& directory,
                             const dirent& entry) const;
  template <class Use>
  bool list(const std::string& path, DirectoryReader& directory, Use use) const;
  bool enter(std::string path, NamesBatch& batch);
  bool reopen(Level& level);
  void step(NamesBatch& batch);

  const Root& root_;
  const Choice& choice_;
  const bool force_;
  Reporter& reporter_;
  std::vector<Level> levels_;
  bool begun_ = false;
  dev_t device_ = 0;  // the root's device number
};

}  // namespace rdcp::tree
