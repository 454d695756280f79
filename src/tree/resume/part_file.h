// A large file that has a name while it is written, so that another run can continue it.
#pragma once

#include <sys/file.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/fd.h"
#include "io/result.h"
#include "tree/fs/own_names.h"
#include "tree/fs/unnamed_file.h"
#include "tree/resume/journal.h"
#include "tree/resume/mount_stamp.h"

namespace rdcp::tree {

// How a target should continue a part.
struct PartWish {
  SourceState source;
  bool resume = true;  // false: drop what an earlier run has left
  bool doubt = false;  // read what it has left before trusting it
  // Locks the journal; returns false, with errno, if it cannot.
  std::function<bool(int fd)> lock = [](int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; };
  // Identifies a mount; tests replace it.
  std::optional<std::uint64_t> (*stamp_of)(int fd) = mount_stamp;
};

// Smaller files are made without a name and leave nothing behind.
inline constexpr std::uint64_t kPartBytesMin = 16 << 20;

// An open part and its journal. A lock on the journal (flock(2)) keeps other runs away from both. Both stay
// on disk when they are merely closed. Not thread-safe.
class PartFile {
 public:
  // Opens the part of the file of this name in `directory`. It continues an old part if that is for this
  // state of the source, is a regular file of ours with one name that nobody else may write to, and has the
  // inode that its journal names; otherwise it starts a new one. Returns nothing, with the errno of the last
  // call, if another run has the part, if its name is taken by something that is not ours, or if the
  // filesystem has no owners or locks.
  static std::optional<PartFile> open(int directory, std::string_view name, const PartWish& wish);

  // Removes what a run has left of the file of this name, unless a run is using it. The Error names what
  // cannot be removed by its name in the directory; so do those below.
  static io::Result<void> forget(int directory, std::string_view name);

  // Returns the part, to be published under its final name. To be called once.
  UnnamedFile take_file() { return std::move(file_); }
  Journal& journal() { return *journal_; }
  // Removes the journal, once the file has its final name.
  io::Result<void> forget_journal();
  // Removes part and journal, because the bytes cannot be trusted.
  io::Result<void> drop();

 private:
  PartFile(io::Fd directory, PartNames names, UnnamedFile file, std::unique_ptr<Journal> journal)
      : directory_(std::move(directory)),
        names_(std::move(names)),
        file_(std::move(file)),
        journal_(std::move(journal)) {}

  io::Fd directory_;
  PartNames names_;
  UnnamedFile file_;
  std::unique_ptr<Journal> journal_;
};

// Opens and locks a file for `rdcp --clean`: a regular file of this user with one name. Returns no
// descriptor, with errno, if it is something else (EPERM) or in use (EWOULDBLOCK). If `unlocked` is given, a
// file on a filesystem without locks is opened, too, and *unlocked is set.
io::Fd open_own(int directory, const std::string& name, bool* unlocked = nullptr);
// Returns the final name of this journal's file, or an empty string if this is not a journal.
std::string final_name_in(int journal);
// Removes the part of this journal, which the caller has locked. Returns false, with errno, if it cannot be
// removed; true if there is none, or if what has its name is not ours.
bool remove_part_of(int directory, const std::string& journal);

}  // namespace rdcp::tree
