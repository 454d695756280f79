#include "tree/resume/clean.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/fs/directory_reader.h"
#include "tree/fs/local_path.h"
#include "tree/fs/opened_directories.h"
#include "tree/fs/remove.h"
#include "tree/resume/own_lock.h"
#include "tree/resume/part_file.h"
#include "tree/resume/run_marker.h"

namespace rdcp::tree {
namespace {

constexpr std::chrono::seconds kTellEvery{2};
constexpr std::size_t kTellAtOnce = 256;

// Returns the names of run markers in a directory. One that cannot be listed counts as having none.
std::vector<std::string> run_names_in(int directory) {
  std::vector<std::string> names;
  DirectoryReader listing = DirectoryReader::open(directory, "");
  while (const dirent* entry = listing ? listing.next() : nullptr) {
    if (own_name(entry->d_name) == OwnName::run) names.emplace_back(entry->d_name);
  }
  return names;
}

class Cleaner {
 public:
  Cleaner(const CleanJob& job, Reporter& reporter, const std::function<bool(const Leftovers&)>& tell)
      : job_(job), reporter_(reporter), tell_(tell) {}

  void run();

 private:
  void look_beside();
  DirectoryReader list(const std::string& path);
  void enter(const std::string& path);
  void look_at(int directory, const std::string& parent, const std::string& name, OwnName kind);
  void look_at_unlocked(int directory, const std::string& parent, const std::string& name,
                        const struct stat& status);
  void look_at_directory(int directory, const std::string& parent, const std::string& name);
  void remove(int directory, const Leftover& leftover, const std::string& name);
  bool speak(bool last);
  void problem(const char* operation, const std::string& path) {
    reporter_.problem(io::errno_error(operation, join_path(job_.path, path)));
  }

  const CleanJob& job_;
  Reporter& reporter_;
  const std::function<bool(const Leftovers&)>& tell_;
  io::Fd root_;
  // Directories of ours whose permissions are in the way of removals.
  OpenedDirectories opened_{[this](const io::Error& error) { reporter_.problem(error); }};
  bool found_beside_ = false;
  std::vector<std::string> directories_;  // still to be entered
  Leftovers found_;
  std::chrono::steady_clock::time_point next_word_ = std::chrono::steady_clock::now() + kTellEvery;
};

void Cleaner::run() {
  root_.reset(::open(job_.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int cause = errno;
  look_beside();
  // A run may have ended before it made the directory.
  const bool never_made = cause == ENOENT && found_beside_;
  if (!root_ && !never_made) {
    errno = cause;
    problem("open directory", "");
  } else if (root_) {
    opened_.begin(root_.get(), job_.path);
    directories_.emplace_back();
  }
  bool heard = true;
  while (heard && !directories_.empty()) {
    const std::string next = std::move(directories_.back());
    directories_.pop_back();
    enter(next);
    heard = speak(false);
  }
  opened_.close_all();
  if (heard) speak(true);
}

// Looks for markers of runs that were to make the directory, which lie beside it.
void Cleaner::look_beside() {
  const auto [parent, name] = split_real_path(job_.path);
  const io::Fd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return;
  for (const std::string& marker : run_names_in(directory.get())) {
    if (name.empty() || RunMarker::made_beside(directory.get(), marker) != name) continue;
    found_beside_ = true;
    look_at(directory.get(), "..", marker, OwnName::run);
  }
}

// Reports what was found if it is time to. Returns false if nobody listens.
bool Cleaner::speak(bool last) {
  const auto now = std::chrono::steady_clock::now();
  if (!last && now < next_word_ && found_.found.size() < kTellAtOnce) return true;
  next_word_ = now + kTellEvery;
  found_.last = last;
  return tell_(std::exchange(found_, {}));
}

DirectoryReader Cleaner::list(const std::string& path) {
  DirectoryReader listing = DirectoryReader::open(root_.get(), path);
  if (listing || errno != EACCES || !job_.remove) return listing;
  const io::Fd closed = open_beneath(root_.get(), path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (closed) opened_.open_up(closed.get(), path);
  return DirectoryReader::open(root_.get(), path);
}

void Cleaner::enter(const std::string& path) {
  DirectoryReader listing = list(path);
  if (!listing) return problem("open directory", path);
  std::vector<std::pair<std::string, OwnName>> own;
  std::vector<std::string> replaced;
  const auto sort_out = [&](const dirent& entry) {
    const std::string name = entry.d_name;
    const bool is_directory = listing.is_directory(entry).value_or(false);
    const OwnName kind = own_name(name);
    if (is_directory && kind == OwnName::temporary) {
      replaced.push_back(name);
    } else if (is_directory) {
      directories_.push_back(join_path(path, name));
    } else if (kind != OwnName::none) {
      own.emplace_back(name, kind);
    }
    return true;
  };
  if (!listing.for_each(sort_out)) problem("read directory", path);
  const int directory = listing.fd();
  const bool removes = job_.remove && !(own.empty() && replaced.empty());
  if (removes && ::faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) != 0) opened_.open_up(directory, path);
  for (const auto& [name, kind] : own) look_at(directory, path, name, kind);
  for (const std::string& name : replaced) look_at_directory(directory, path, name);
}

// A part that has a journal is handled with the journal, whose lock tells whether a run is using them.
void Cleaner::look_at(int directory, const std::string& parent, const std::string& name, OwnName kind) {
  struct stat status {};
  const auto exists = [&](const std::string& other) {
    return ::fstatat(directory, other.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (kind == OwnName::part && exists(journal_of_part(name))) return;
  if (!exists(name)) {
    if (errno != ENOENT) problem("stat", join_path(parent, name));
    return;
  }
  const bool lockable = S_ISREG(status.st_mode) && status.st_nlink == 1 && status.st_uid == ::geteuid();
  if (kind == OwnName::temporary && !lockable) return look_at_unlocked(directory, parent, name, status);
  if (!S_ISREG(status.st_mode)) return;
  Leftover leftover{.kind = kind, .path = join_path(parent, name), .final_path = {}};
  // Stays open, and so locked, until it is gone.
  const io::Fd own = open_own(directory, name, &leftover.unlocked);
  if (!own && errno == EPERM) return;
  leftover.in_use = !own && errno == EWOULDBLOCK;
  if (!own && !leftover.in_use) {
    if (errno != ENOENT) problem("open", leftover.path);
    return;
  }
  if (kind == OwnName::journal) {
    const io::Fd journal = open_beneath(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const std::string final_name = journal ? final_name_in(journal.get()) : std::string();
    if (!final_name.empty()) leftover.final_path = join_path(parent, final_name);
    struct stat part {};
    if (::fstatat(directory, part_of_journal(name).c_str(), &part, AT_SYMLINK_NOFOLLOW) == 0) status = part;
  }
  leftover.bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
  leftover.age_seconds = static_cast<std::uint64_t>(std::max<time_t>(::time(nullptr) - status.st_mtime, 0));
  found_.found.push_back(leftover);
  if (!job_.remove || leftover.in_use) return;
  if (speak(false)) remove(directory, leftover, name);
}

// Handles links, nodes and files that have their final owner already, on which a run has no lock. A run that
// lives has such a thing under a temporary name for a moment only, just before it is renamed.
void Cleaner::look_at_unlocked(int directory, const std::string& parent, const std::string& name,
                               const struct stat& status) {
  constexpr std::time_t kMomentSeconds = 2;
  if (status.st_uid != ::geteuid() && ::geteuid() != 0) return;
  const std::time_t age = ::time(nullptr) - status.st_ctime;
  Leftover leftover{.kind = OwnName::temporary, .path = join_path(parent, name), .final_path = {}};
  leftover.age_seconds = static_cast<std::uint64_t>(std::max<std::time_t>(age, 0));
  leftover.in_use = age < kMomentSeconds;
  found_.found.push_back(leftover);
  if (!job_.remove || leftover.in_use) return;
  if (speak(false)) remove(directory, leftover, name);
}

// Handles a directory that a run has replaced by something else without finishing its removal.
void Cleaner::look_at_directory(int directory, const std::string& parent, const std::string& name) {
  Leftover leftover{.kind = OwnName::temporary, .path = join_path(parent, name), .final_path = {}};
  // Stays open, and so locked, until it is gone.
  const io::Fd own = open_beneath(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat status {};
  if (!own || ::fstat(own.get(), &status) != 0) {
    if (errno != ENOENT) problem("open directory", leftover.path);
    return;
  }
  if (status.st_uid != ::geteuid()) return;
  const bool locked = ::flock(own.get(), LOCK_EX | LOCK_NB) == 0;
  leftover.unlocked = !locked && lacks_locks(errno);
  leftover.in_use = !locked && !leftover.unlocked;
  leftover.age_seconds = static_cast<std::uint64_t>(std::max<time_t>(::time(nullptr) - status.st_mtime, 0));
  const std::string subject = join_path(job_.path, leftover.path);
  bool heard = true;
  MayRemove measure;
  measure.look = [&](const std::string&, const struct stat& below) {
    leftover.bytes += static_cast<std::uint64_t>(below.st_blocks) * 512;
    heard = heard && speak(false);
    return heard;
  };
  if (const auto seen = remove_tree(directory, name, subject, measure, true); !seen) {
    reporter_.problem(seen.error());
  }
  found_.found.push_back(leftover);
  if (!job_.remove || leftover.in_use || !speak(false)) return;
  MayRemove alive;
  alive.look = [&](const std::string&, const struct stat&) { return heard = heard && speak(false); };
  alive.remove = [](const std::string& below, const struct stat&) { return RemovalPermit::for_own(below); };
  if (const auto gone = remove_tree(directory, name, subject, alive); !gone) {
    reporter_.problem(gone.error());
  }
}

void Cleaner::remove(int directory, const Leftover& leftover, const std::string& name) {
  if (leftover.kind == OwnName::journal && !remove_part_of(directory, name)) {
    problem("remove", leftover.path);
  } else if (remove_own(directory, name) != 0 && errno != ENOENT) {
    problem("remove", leftover.path);
  }
}

}  // namespace

void clean(const CleanJob& job, Reporter& reporter, const std::function<bool(const Leftovers&)>& tell) {
  Cleaner(job, reporter, tell).run();
}

}  // namespace rdcp::tree
