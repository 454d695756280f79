// A large file that has a name while it is written, so that another run can go on with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/fd.h"
#include "io/result.h"
#include "tree/journal.h"
#include "tree/mount_stamp.h"
#include "tree/own_names.h"
#include "tree/unnamed_file.h"

namespace rdcp::tree {

// What a target is told of how to go on.
struct PartWish {
  SourceState source;
  bool resume = true;  // false: what an earlier run has left is dropped
  bool doubt = false;  // what it has left is read before it is trusted
  // What tells this mount from others; tests have their own.
  std::optional<std::uint64_t> (*stamp_of)(int fd) = mount_stamp;
};

// Smaller ones are made without a name and leave nothing behind.
inline constexpr std::uint64_t kPartBytesMin = 16 << 20;

// An open part and its journal, which it holds a lock on (flock(2)): no other run touches either. Both stay
// when they are just closed. Not thread-safe.
class PartFile {
 public:
  // In `directory`, for the file of this name. Goes on with what is there where it is of this state of the
  // source, a regular file of ours with one name that nobody else may write to, and the inode that its
  // journal names; else it starts anew. None where that cannot be: another run has it, its name is taken by
  // what is not ours, or the filesystem knows neither owners nor locks; errno says what the last call said.
  static std::optional<PartFile> open(int directory, std::string_view name, const PartWish& wish);

  // Removes what a run has left of the file of this name, if no run is at it. Error: what cannot be removed,
  // by its name in the directory; the same of what follows.
  static io::Result<void> forget(int directory, std::string_view name);

  // The part, to be published under its final name. Once.
  UnnamedFile take_file() { return std::move(file_); }
  Journal& journal() { return *journal_; }
  // The file has its final name: the journal has no part any more.
  io::Result<void> forget_journal();
  // The bytes are not to be trusted: both go.
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

// Opens a file of ours for `rdcp --clean` and locks it: a regular file, this user's, with one name. None: it
// is something else, or in use (errno EWOULDBLOCK). unlocked: if given, a file whose filesystem has no locks
// is opened, too, and this is set.
io::Fd open_own(int directory, const std::string& name, bool* unlocked = nullptr);
// What the file of this journal would have been called; empty: it is no journal.
std::string final_name_in(int journal);
// Removes the part of this journal, which the caller has locked. False with errno: it could not be removed.
// True, too, where there is none, or what has its name is not ours.
bool remove_part_of(int directory, const std::string& journal);

}  // namespace rdcp::tree
