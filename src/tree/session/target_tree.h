// Puts single entries into the target's tree, everything beneath one directory descriptor.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/fd.h"
#include "io/result.h"
#include "tree/archive/archive.h"
#include "tree/fs/directory_cache.h"
#include "tree/fs/unnamed_file.h"
#include "tree/guards/removal_gate.h"
#include "tree/meta/entry.h"
#include "tree/meta/metadata.h"
#include "tree/meta/names.h"
#include "tree/resume/part_file.h"
#include "tree/session/earlier_copies.h"

namespace rdcp::tree {

// One per worker, not thread-safe; it shares policy, names, losses and earlier copies with the others, all of
// which outlive it. What `earlier` has to keep as a backup, and cannot, is not replaced. Entries come from a
// peer that is not trusted, but their paths were admitted. System errors keep their errno in Error::code.
class TargetTree {
 public:
  // root was opened with O_RDONLY | O_DIRECTORY, belongs to the caller and outlives this. naming is automatic
  // except where a test tries the other ways.
  TargetTree(int root, std::string root_name, const MetadataContext& metadata, EarlierCopies& earlier,
             Naming naming = Naming::automatic);

  // Puts a small file in place with all its content (blocks from the reader until none is left; holes stay
  // holes). Nothing is seen under its name before content and metadata are right.
  io::Result<void> put_file(const Entry& entry, ArchiveReader& content);
  // These do the same in two steps, between which the content may be read back. `blocks` receives what was
  // written where, as it lies in the chunk.
  struct WrittenFile {
    UnnamedFile file;
    std::uint32_t known_mode = 0;
  };
  io::Result<WrittenFile> write_file(const Entry& entry, ArchiveReader& content,
                                     std::vector<ArchiveReader::Block>* blocks = nullptr);
  io::Result<void> name_file(const Entry& entry, WrittenFile& written);
  // Puts a symlink, hard_link, fifo, socket or device node in place. It replaces what stands there, by a
  // temporary name and a rename, unless that is a directory (EISDIR). A device node that cannot be made for
  // lack of privilege is a loss, not an error.
  io::Result<void> put_special(const Entry& entry);
  // Links a file from elsewhere (link_unchanged() of tree/fs/special.h) to a path that nothing has. Makes its
  // directory, which keeps its times, if it is missing. Error: that cannot be made.
  io::Result<bool> link_file(EntryPathView path, int directory, const std::string& name,
                             const struct stat& looked_at);
  // A directory's metadata, after all that is in it: made if missing. An empty path is the root itself.
  io::Result<void> finish_directory(const Entry& entry);
  // Metadata of what is there (Entry::attributes_only). Error where it is of another type by now.
  io::Result<void> set_attributes(const Entry& entry);

  // Sync: what is no directory gives way to one, or the reverse, if the gate, which outlives this, says so.
  void ask(RemovalGate& gate);
  // From now on `claim` is asked for each name that is put, before anything is made for it, and `named` once
  // it stands for the new inode. An old file that open_old() gives is none.
  using Ask = std::function<io::Result<void>(EntryPathView path)>;
  void ask_for_names(Ask claim, Ask named) { claim_ = std::move(claim), named_ = std::move(named); }

  // A large file and a descriptor of its directory (dup, the caller's). Its metadata are set by
  // apply_metadata() with created_mode ~0u before publish().
  struct OpenedFile {
    io::Fd directory;
    UnnamedFile file;
    std::optional<PartFile> part;  // the file has a name, and what is written to it is recorded
  };
  // As a part where that is possible, or without a name if wish is null.
  io::Result<OpenedFile> open_file(const Entry& entry, const PartWish* wish = nullptr);
  // Puts a non-directory in its place: publish() gives it a name in `directory`. That is the last component
  // of entry's path, or a temporary name where a directory is in the way and may be removed: then publish()
  // is called again after EISDIR.
  io::Result<void> publish(int directory, const Entry& entry,
                           const std::function<io::Result<void>(const std::string& name)>& publish);

  // Removes the part that a run may have left of a file that is complete now, unless another run writes it.
  io::Result<void> forget_part(EntryPathView path);
  // Rewrites an error about a name beside path (PartFile's) for the user.
  io::Result<void> beside(EntryPathView path, io::Result<void> done) const;
  // Whether anything but directories has been given its name here.
  bool has_put() const { return has_put_; }
  // Whether the filesystem has no locks, so that large files have no part.
  bool met_no_locks() const { return met_no_locks_; }

  // From now on every file is flushed before it gets its name, and what the caller's syncfs(2) of the root
  // does not reach (another filesystem, or any on FUSE) when it is finished.
  void flush_all();
  // From now on nothing counts as put that the source could not do without, since it removes what was put: a
  // device node that may not be made is an error, and flush_names() is called before the source is answered.
  void put_for_good() { for_good_ = true; }
  // Flushes all names that were given since the last call, and those of the directories that they are in.
  io::Result<void> flush_names();
  // These call fsync(2) if flush_all() was called; the second one only if that syncfs(2) does not reach fd.
  // It takes O_PATH descriptors, too, and not what has no content: the flush of its directory is enough.
  io::Result<void> flush(int fd, std::string_view subject) const;
  io::Result<void> flush_elsewhere(int fd, std::string_view subject) const;

  // Opens the regular file there, O_RDONLY or O_RDWR. Returns its descriptor, or none with errno set.
  io::Fd open_old(EntryPathView path, int access);

  std::string subject(std::string_view path) const;  // "ROOT_NAME/path", for messages

 private:
  struct Created {
    int directory;  // see DirectoryCache::open()
    UnnamedFile file;
  };
  io::Result<Created> create(const Entry& entry, std::string_view name);
  std::uint32_t known_mode(EntryPathView parent, int directory, const UnnamedFile& file);
  io::Result<void> put_hard_link(const Entry& entry, std::string_view name);
  io::Result<int> open_directory(EntryPathView path);
  bool may_search(EntryPathView path);  // opens the directory up, if it must; sets errno to EACCES
  // True if a syncfs(2) of the root flushes this.
  bool is_reached(const struct stat& status) const { return syncfs_reaches_ && status.st_dev == device_; }
  io::Result<void> note_put(int directory, EntryPathView path);
  io::Result<void> flush_directory(EntryPathView path);
  template <class Make>
  auto make_in_parent(EntryPathView path, Make make) -> decltype(make(0));

  int root_;
  std::string root_name_;
  const MetadataContext metadata_;
  EarlierCopies& earlier_;
  DirectoryCache directories_;
  Naming naming_;
  RemovalGate* gate_ = nullptr;
  Ask claim_ = [](EntryPathView) { return io::Result<void>(); };
  Ask named_ = claim_;
  std::optional<io::Error> not_kept_;  // why something gave no way to a directory
  bool flushes_ = false;
  bool syncfs_reaches_ = true;
  dev_t device_ = 0;  // the root's
  bool for_good_ = false;
  std::set<EntryPath> named_in_;  // directories with names that neither it nor flush_names() has flushed
  bool has_put_ = false;
  bool met_no_locks_ = false;
  std::optional<std::string> asked_parent_;  // the last parent that known_mode() looked at
  bool born_plain_ = false;
  bool silent_close_ = false;
};

}  // namespace rdcp::tree
