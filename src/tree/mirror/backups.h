// Keeps what is replaced or removed at the target under another name (--backup).
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"
#include "tree/fs/opened_directories.h"
#include "tree/guards/removal_gate.h"
#include "tree/meta/entry.h"
#include "tree/meta/metadata.h"

namespace rdcp::tree {

// All workers of a target share one; thread-safe. Every name is looked up beneath the root, and no symlink is
// followed.
class Backups {
 public:
  // The caller owns root, as in RemovalGate::begin(), and the others; all outlive this. The run begins now.
  Backups(int root, const RemovalGate& gate, OpenedDirectories& opened, Losses& losses);
  // From now on what this run has put may be put once more, because the answer was lost: what has changed
  // since the run began (its ctime says so) is taken for that, and needs no backup.
  void expect_repeats() { repeats_ = true; }
  // From now on equal size and time do not make two files equal (--checksum, --ignore-times).
  void distrust_times() { trusts_times_ = false; }

  // Gives what has `name` in `directory` the name of its backup as well, in place of an older backup, so that
  // it can be replaced or removed: there is no moment at which it has no name. path is its Entry::path,
  // subject names it in messages. A directory, and a name that is missing, need no backup. After an error it
  // must stay where it is. coming: what takes its place, if that is known; an entry that equals it needs no
  // backup, which would only take the place of an older one.
  io::Result<void> keep(int directory, const std::string& name, std::string_view path,
                        std::string_view subject, const Entry* coming = nullptr) const;

 private:
  bool make_directory(int parent, std::string_view path) const;
  bool make_in_destination(int parent, std::string_view path) const;
  io::Fd enter(int parent, std::string_view path, std::string_view origin, bool in_destination) const;
  io::Fd open_directory(std::string_view top, std::string_view below) const;
  bool equals(const Entry& coming, int directory, const std::string& name, const struct stat& old) const;
  bool is_of_this_run(const struct stat& status) const;

  const int root_;
  const RemovalGate& gate_;
  OpenedDirectories& opened_;
  Losses& losses_;
  mutable std::mutex making_;  // held while the times of a directory of the destination are kept
  const timespec began_;
  std::atomic<bool> repeats_{false};
  bool trusts_times_ = true;
};

}  // namespace rdcp::tree
