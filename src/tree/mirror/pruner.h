// Removes at the target what the source does not have (--delete).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "net/stream/frame.h"
#include "tree/fs/directory_reader.h"
#include "tree/guards/removal_gate.h"
#include "tree/messages/changes.h"
#include "tree/meta/metadata.h"
#include "tree/mirror/backups.h"
#include "tree/pages/names_page.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// One per worker; not thread-safe. All look-ups are beneath the root, and nothing on another filesystem is
// touched. The source's pages name directories and names that stay: it cannot name what goes.
class Pruner {
 public:
  // root and the others are the caller's, and outlive this.
  Pruner(int root, std::string root_name, RemovalGate& gate, Reporter& reporter, Losses& losses);

  // Verdict 1: the directory has other names here.
  void compare(const std::vector<SummedDirectory>& sums, net::Verdicts& verdicts);
  // Removes what is not among the names, of their part. What goes, or would go, is told at once: it may be
  // more than memory holds.
  using Tell = std::function<void(Change)>;
  void remove_others(const ListedNames& names, const Tell& tell);

  std::function<bool()> going = [] { return true; };
  // If set, what goes is kept by this, which outlives this.
  const Backups* backups = nullptr;
  // Is called with each directory, and its name for messages, from which something may have been removed.
  std::function<io::Result<void>(int directory, std::string_view subject)> flush = [](int, std::string_view) {
    return io::Result<void>();
  };

 private:
  bool may_delete();
  bool counts(EntryPathView path, const DirectoryReader& listing, const dirent& entry) const;
  bool find_extra(DirectoryReader& listing, const ListedNames& names);
  void remove_extra(DirectoryReader& listing, const ListedNames& names, const std::string& subject,
                    const Tell& tell);
  void remove(int directory, const std::string& name, const std::string& path, const Tell& tell);

  const int root_;
  const std::string root_name_;
  const SyncSettings& sync_;
  RemovalGate& gate_;
  Reporter& reporter_;
  Losses& losses_;
  std::vector<std::string_view> kept_;  // sorted
  std::vector<std::string> extra_;      // sorted; none of it has been looked at before
  std::string last_;                    // that was
};

}  // namespace rdcp::tree
