// Compares the target's entries with those that the source describes (--sync).
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "tree/fs/directory_cursor.h"
#include "tree/guards/removal_gate.h"
#include "tree/messages/changes.h"
#include "tree/messages/job.h"
#include "tree/meta/metadata.h"
#include "tree/meta/names.h"
#include "tree/pages/compare.h"

namespace rdcp::tree {

// Looks, and changes nothing but the permissions of directories that it could not look into (open_up_by()).
// One per worker; not thread-safe. Everything is looked up beneath the root.
class Comparer {
 public:
  // root, gate, names: the caller's, outlive this.
  Comparer(int root, std::string root_name, RemovalGate& gate, const MetadataPolicy& policy,
           NameTable& names);

  // Returns what becomes of the item; lines to be printed for it go into changes. Error: it cannot be
  // replaced, or what stands there cannot be looked at.
  io::Result<Verdict> compare(const Question& question, std::vector<Change>& changes);

  // True when something of this type stands there, of whatever size, and has this metadata already.
  bool has_metadata_of(const Entry& entry);

  // The file that the item stands for, if it is here with the same content and metadata.
  struct Twin {
    int directory;  // valid until the next call
    std::string name;
    struct stat status;
  };
  std::optional<Twin> find_twin(const Question& question);
  // Leaves so many bytes at the beginning of each path out when it is looked up.
  void strip(std::size_t bytes) { strips_ = bytes; }
  // If set, it is called for a file that is missing, and returns true if it has put that there.
  std::function<bool(const Question& question)> supplied;
  // From now on this, which outlives the comparer, opens up directories of ours that must not be searched;
  // not in a dry run.
  void open_up_by(OpenedDirectories& opened) {
    if (!sync_.dry_run) held_.open_up_by(opened);
  }

  // For tests, and for long readings: false ends them.
  std::function<bool()> going = [] { return true; };

 private:
  struct Found {
    int directory = -1;  // that it is in; -1: it is the root
    std::string name;
    struct stat status {};
    io::Fd content;  // where it is to be read
  };
  // Which of an item's facts are others here.
  struct Differences {
    bool content = false, size = false, mtime = false, mode = false, owner = false, group = false,
         acl = false, xattrs = false;
    bool any() const { return content || size || mtime || mode || owner || group || acl || xattrs; }
  };
  io::Result<std::optional<Found>> find(EntryPathView path);
  io::Result<Verdict> compare_directory(const Question& question, const std::optional<Found>& found,
                                        std::vector<Change>& changes);
  io::Result<Verdict> compare_other(const Question& question, std::optional<Found>& found,
                                    std::vector<Change>& changes);
  io::Result<Verdict> compare_hard_link(const Question& question, const Found& found, const Change& change,
                                        std::vector<Change>& changes);
  io::Result<Verdict> make_way(const Question& question, const Found& found, std::vector<Change>& changes);
  bool is_left_alone(const Question& question, const std::optional<Found>& found) const;
  bool opens_content(const Question& question, const Found& found) const;
  io::Result<bool> has_content(const Question& question, const Found& found);
  bool says_the_same(const Question& question, const Found& found) const;
  io::Result<Differences> metadata_differences(const Question& question, const Found& found);
  io::Result<void> compare_attributes(const Question& question, const Found& found, Differences& differences);
  bool same_time(const Timestamp& source, const struct stat& here) const;
  bool may_give_to(std::uint32_t gid) const;
  void tell(std::vector<Change>& changes, const Question& question, std::string code) const;
  Change change_of(const Question& question, std::string code) const;

  const int root_;
  const std::string root_name_;
  RemovalGate& gate_;
  const SyncSettings& sync_;
  const MetadataPolicy policy_;
  NameTable& names_;
  DirectoryCursor held_;
  const bool is_root_;
  std::vector<gid_t> our_groups_;
  bool two_seconds_ = false;  // times are kept no finer
  std::vector<std::byte> buffer_;
  std::size_t strips_ = 0;
};

}  // namespace rdcp::tree
