#include "tree/target/target.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/fs/heard_close.h"
#include "tree/fs/local_path.h"
#include "tree/fs/unnamed_file.h"
#include "tree/resume/own_lock.h"
#include "tree/select/destination_mapping.h"
#include "tree/streams/stream_supervisor.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using io::ErrorKind;
using io::Result;

namespace {

// Returns the Entry::path of DST itself, or nothing if DST is the root and what lands lies in it.
std::string destination_of(const Begin& begin) {
  return begin.beneath_parent && !begin.landings.empty() ? begin.landings.front() : std::string();
}

// The directory and all above it, so that the source can be told from them.
std::vector<PathFacts> chain_to_root(const std::string& path) {
  std::vector<PathFacts> chain;
  io::Fd at(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (at) {
    struct stat status {};
    if (::fstat(at.get(), &status) != 0) break;
    if (!chain.empty() && chain.back().device == status.st_dev && chain.back().inode == status.st_ino) break;
    chain.push_back({.kind = PathKind::directory, .device = status.st_dev, .inode = status.st_ino});
    at.reset(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return chain;
}

// True if the path leads into procfs, as /dev/stdout does: in this process that is a descriptor of its own,
// and a file that took the place of the link would take standard output away from all others.
bool leads_to_procfs(std::string path) {
  constexpr int kLinksMax = 40;  // as the kernel has it
  for (int links = 0; links < kLinksMax; ++links) {
    const io::Fd at(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct statfs filesystem {};
    if (!at || ::fstatfs(at.get(), &filesystem) != 0) return false;
    if (filesystem.f_type == PROC_SUPER_MAGIC) return true;
    char text[PATH_MAX];
    const ssize_t length = ::readlinkat(at.get(), "", text, sizeof text);
    if (length <= 0) return false;
    const std::string link(text, static_cast<std::size_t>(length));
    path = link.starts_with('/') ? link : split_local_path(path).directory + "/" + link;
  }
  return false;
}

}  // namespace

TargetReady Target::open() {
  TargetReady ready = look_at_destination();
  look_for_marker(ready);
  kind_ = ready.kind;
  session_.earlier.links.open(session_.job.wishes.link_directories, session_.job.path,
                              kind_ == PathKind::directory);
  return ready;
}

// A run that made DST has its marker beside it, since DST's parent was its root; else it is in DST.
void Target::look_for_marker(TargetReady& ready) {
  const std::string& path = session_.job.path;
  const auto may_wait = [this] { return !session_.giving_up(); };
  const auto is_in = [&](const std::string& directory) {
    const io::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto found = fd ? RunMarker::look(fd.get(), session_.job.marker, may_wait) : RunMarker::Found::none;
    ready.doubtful |= found == RunMarker::Found::doubtful;
    return found != RunMarker::Found::none;
  };
  if (ready.kind == PathKind::file) {
    // It stays the file that it is, whole or half overwritten (--inplace).
    ready.interrupted = is_in(split_local_path(path).directory);
    return;
  }
  if (ready.kind != PathKind::directory && ready.kind != PathKind::missing) return;
  if (is_in(split_local_path(path).directory)) {
    ready.interrupted = true;
    ready.kind = PathKind::missing;
    ready.ancestors = chain_to_root(split_local_path(path).directory);
  } else if (ready.kind == PathKind::directory && is_in(path)) {
    ready.interrupted = true;
  }
}

TargetReady Target::look_at_destination() {
  const std::string& path = session_.job.path;
  io::Fd& in_place = session_.place.in_place;
  TargetReady ready;
  ready.new_mode = 0666 & ~umask_;
  if (session_.job.standard_output) {
    ready.kind = PathKind::byte_stream;
    return ready;
  }
  struct stat status {};
  const bool leads_there = ::stat(path.c_str(), &status) == 0;
  // rdrecv may write to what it has inherited, if that takes bytes in order.
  const bool own_pipe = only_file_mode_ && leads_there && !S_ISREG(status.st_mode);
  if (!own_pipe && !S_ISDIR(status.st_mode) && leads_to_procfs(path)) {
    ready.kind = PathKind::unusable;
    return ready;
  }
  if (!leads_there) {
    // A dangling symlink is a name to be replaced, like a file.
    const bool dangling = ::lstat(path.c_str(), &status) == 0;
    ready.kind = dangling ? PathKind::file : PathKind::missing;
    ready.ancestors = chain_to_root(split_local_path(path).directory);
    return ready;
  }
  if (S_ISDIR(status.st_mode)) {
    ready.kind = PathKind::directory;
    ready.ancestors = chain_to_root(path);
    return ready;
  }
  ready.ancestors = chain_to_root(split_local_path(path).directory);
  if (S_ISREG(status.st_mode)) {
    ready.kind = PathKind::file;
    // As a shell's ">" does, which makes no file either.
    ready.new_mode = permissions_without_acl(path, status.st_mode);
    if (only_file_mode_) only_file_mode_ = ready.new_mode;
  } else if (S_ISSOCK(status.st_mode)) {
    ready.kind = PathKind::unusable;
  } else {
    // Kept open: a FIFO's reader would take it for the end of all if its only writer went.
    in_place.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    const bool seekable = in_place && ::lseek(in_place.get(), 0, SEEK_CUR) >= 0;
    ready.kind = seekable ? PathKind::special : PathKind::byte_stream;
  }
  return ready;
}

Result<void> Target::open_in_place() {
  const std::string& path = session_.job.path;
  TargetPlace& place = session_.place;
  if (session_.job.standard_output) {
    place.in_place.reset(::fcntl(standard_.output, F_DUPFD_CLOEXEC, 3));
    if (!place.in_place) return io::errno_error("write", standard_.output_name);
    io::enlarge_pipe(place.in_place.get());
    place.ordered = true;
    place.name = standard_.output_name;
    return {};
  }
  place.name = path;
  // Not blocking, or a FIFO without a reader would hold the agent up for ever.
  if (!place.in_place) {
    place.in_place.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  if (!place.in_place && errno == ENXIO) {
    return io::plain_error(ErrorKind::file, "open", path,
                           "No such device or address (if it is a FIFO, start its reader first)");
  }
  if (!place.in_place) return io::errno_error("open", path);
  if (::fcntl(place.in_place.get(), F_SETFL, ::fcntl(place.in_place.get(), F_GETFL) & ~O_NONBLOCK) != 0) {
    return io::errno_error("open", path);
  }
  place.ordered = ::lseek(place.in_place.get(), 0, SEEK_CUR) < 0;
  return {};
}

Result<void> Target::begin(const Begin& begin) {
  TargetGuards& guards = session_.guards;
  const bool one_file = only_file_mode_.has_value();
  const bool has_place = kind_ == PathKind::byte_stream || kind_ == PathKind::special;
  // The name of a file that is fixed here is not the source's to say, so it may say any.
  if (auto admitted = guards.admit(begin.landings, one_file); !admitted) return admitted;
  if (one_file) guards.only = only_file();
  const bool in_place = one_file ? has_place : begin.in_place;
  guards.terms = terms_of(session_.job, begin.streams, one_file, in_place);
  session_.place.is_directory = kind_ == PathKind::directory;
  return in_place ? open_in_place() : open_root(begin);
}

Result<void> Target::open_root(const Begin& begin) {
  const TargetJob& job = session_.job;
  TargetPlace& place = session_.place;
  place.in_place.reset();
  place.name = only_file_mode_ || begin.beneath_parent ? split_local_path(job.path).directory : job.path;
  place.root.reset(::open(place.name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.root && errno == ENOENT && !only_file_mode_) {
    return io::plain_error(ErrorKind::file, "open directory", place.name,
                           "No such file or directory (--mkpath makes it)");
  }
  if (!place.root) return io::errno_error("open directory", place.name);
  const std::string landing = destination_of(begin);
  if (auto begun = session_.guards.begin_removals(place.root.get(), job.selection, landing, begin); !begun)
    return begun;
  session_.earlier.links.strips = landing.empty() ? 0 : landing.size() + 1;
  if (job.wishes.backup) {
    session_.guards.removals.keep_backups(job.wishes.backup_suffix, job.wishes.backup_directory);
    session_.earlier.backups.emplace(place.root.get(), session_.guards.removals, session_.earlier.opened,
                                     session_.losses());
    const SyncSettings& sync = job.settings.sync;
    if (sync.checksum || sync.ignore_times) session_.earlier.backups->distrust_times();
  }
  if (place.name == ".") place.name.clear();
  session_.earlier.opened.begin(place.root.get(), place.name);
  makes_ = begin.beneath_parent ? last_name(job.path) : std::string();
  if (auto can = check_that_it_can_be_made(); !can) return can;
  const bool several = job.tree || begin.landings.size() > 1;
  session_.with_times_kept(place.root.get(), place.name, [&] {
    marker_ = RunMarker::make(place.root.get(), job.marker, makes_);
    if (!marker_ && lacks_locks(errno)) session_.tally.lacks_locks = true;
    session_.guards.spellings.begin(place.root.get(), marker_ ? job.marker : "",
                                    several && !job.settings.sync.dry_run);
  });
  // A disk that refuses this says so again for each file, which is then named.
  if (marker_ && job.settings.fsync) (void)marker_->flush(place.root.get());
  return {};
}

// Takes the place of each entry that the source sends.
Entry Target::only_file() const {
  Entry entry;
  (void)session_.guards.admitted.admit(last_name(session_.job.path), entry.path);  // it admits all names
  entry.mode = *only_file_mode_;
  return entry;
}

void Target::copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
                  FurtherStreams* further) {
  if (!streams.empty()) session_.tally.describe_stream(streams.size() - 1, "");
  const auto work = [&](std::size_t index, const StreamMaker& make_stream) {
    TargetWorker(session_, index, shape, chain_).run(make_stream);
  };
  StreamSupervisor supervisor(
      session_.streams, work, [this] { return session_.giving_up(); },
      [this](const io::Error& error) { session_.fail(error); });
  supervisor.run(streams, further, std::chrono::seconds(session_.job.settings.retry_seconds));
  session_.files.open.clear();
  session_.changes.finish();
  if (session_.guards.removals.skipped() > 0) {
    session_.reporter().problem(
        io::plain_error(ErrorKind::file, "delete in", session_.place.name,
                        "more entries are extra than --max-delete allows to delete; the rest was left"));
  }
  complete_ = source_end() == SourceEnd::all_came && !session_.giving_up();
  if (marker_ && (complete_ || has_left_nothing())) remove_marker();
  session_.earlier.opened.close_all();
  if (complete_ && session_.job.settings.fsync && !flush()) complete_ = false;
}

SourceEnd Target::source_end() const {
  if (!session_.streams.any_ended()) return SourceEnd::lost;
  return session_.cut_short() ? SourceEnd::cut_short : SourceEnd::all_came;
}

// The run has failed (a full disk, a signal) before anything of it was there that the same command could go
// on with. A directory that it made does not count, unless that is DST, which the same command is to find
// again.
bool Target::has_left_nothing() const {
  struct stat status {};
  const bool made = !makes_.empty() &&
                    ::fstatat(session_.place.root.get(), makes_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return marker_->is_new() && !session_.tally.has_put && session_.tally.parts == 0 && !made;
}

// Says once that DST cannot be made, which each entry beneath it would say again. A parent of the user's own
// is opened up for that (OpenedDirectories).
Result<void> Target::check_that_it_can_be_made() const {
  const int root = session_.place.root.get();
  struct stat status {};
  if (makes_.empty() || session_.job.settings.sync.dry_run) return {};
  if (::fstatat(root, makes_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) return {};
  if (::faccessat(root, ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  const int cause = errno;
  const bool is_own = ::fstat(root, &status) == 0 && status.st_uid == ::geteuid();
  if (cause != EROFS && (cause != EACCES || is_own)) return {};
  errno = cause;
  return io::errno_error("create", session_.job.path);
}

void Target::remove_marker() {
  const TargetPlace& place = session_.place;
  io::Result<void> removed;
  session_.with_times_kept(place.root.get(), place.name,
                           [&] { removed = marker_->remove(place.root.get()); });
  if (removed) return;
  io::Error error = std::move(removed).error();
  error.subject = join_path(place.name, error.subject);
  session_.reporter().problem(error);
}

// Flushes names and directories; files were flushed before they got their names. Also
// flushes a device that is written in place; a pipe has nothing to flush. Returns false after an error, which
// has been reported.
bool Target::flush() {
  const TargetPlace& place = session_.place;
  int flushed = place.root ? ::syncfs(place.root.get()) : ::fsync(place.in_place.get());
  if (flushed == 0 && place.root && !syncfs_reaches_disk(place.root.get())) {
    flushed = ::fsync(place.root.get());  // what lies beneath it has been flushed (TargetTree)
  }
  if (flushed == 0 || (!place.root && (errno == EINVAL || errno == EROFS || errno == ENOTSUP))) return true;
  session_.reporter().fatal(io::errno_error("flush", place.name));
  return false;
}

std::optional<Ledger> Target::ledger() const {
  if (session_.guards.ledger == nullptr) return std::nullopt;
  return session_.guards.ledger->tell();
}

}  // namespace rdcp::tree
