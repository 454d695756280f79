// Holds what the target needs of copies that were there before this run.
#pragma once

#include <optional>
#include <utility>

#include "tree/fs/opened_directories.h"
#include "tree/mirror/backups.h"
#include "tree/mirror/link_directories.h"

namespace rdcp::tree {

// Filled in before the workers start; thread-safe after that.
struct EarlierCopies {
  explicit EarlierCopies(OpenedDirectories::Report report) : opened(std::move(report)) {}

  OpenedDirectories opened;        // directories that were closed to us, though ours
  std::optional<Backups> backups;  // with --backup, unless DST itself is written
  LinkDirectories links;           // of --link-dest

  // Notes that what this run has put may be put once more; it is no earlier copy.
  void expect_repeats() {
    if (backups) backups->expect_repeats();
  }
};

}  // namespace rdcp::tree
