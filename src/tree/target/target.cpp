#include "tree/target/target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "tree/fs/beneath.h"
#include "tree/fs/own_names.h"
#include "tree/resume/own_lock.h"
#include "tree/select/destination_mapping.h"
#include "tree/streams/stream_supervisor.h"
#include "tree/target/target_worker.h"

namespace rdcp::tree {

using io::ErrorKind;
using io::Result;

namespace {

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
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

}  // namespace

TargetReady Target::open() {
  TargetReady ready = look_at_destination();
  if (own_name(job_.marker) == OwnName::run) look_for_marker(ready);
  kind_ = ready.kind;
  return ready;
}

// A run that made DST has its marker beside it, since DST's parent was its root; else it is in DST.
void Target::look_for_marker(TargetReady& ready) {
  const auto is_in = [&](const std::string& directory) {
    const io::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto found = fd ? RunMarker::look(fd.get(), job_.marker) : RunMarker::Found::none;
    ready.doubtful |= found == RunMarker::Found::doubtful;
    return found != RunMarker::Found::none;
  };
  if (ready.kind != PathKind::directory && ready.kind != PathKind::missing) return;
  if (is_in(parent_of(job_.path))) {
    ready.interrupted = true;
    ready.kind = PathKind::missing;
    ready.ancestors = chain_to_root(parent_of(job_.path));
  } else if (ready.kind == PathKind::directory && is_in(job_.path)) {
    ready.interrupted = true;
  }
}

TargetReady Target::look_at_destination() {
  TargetReady ready;
  ready.new_mode = 0666 & ~umask_;
  if (job_.standard_output) {
    ready.kind = PathKind::byte_stream;
    return ready;
  }
  struct stat status {};
  if (::stat(job_.path.c_str(), &status) != 0) {
    // A dangling symlink is a name to be replaced, like a file.
    const bool dangling = ::lstat(job_.path.c_str(), &status) == 0;
    ready.kind = dangling ? PathKind::file : PathKind::missing;
    ready.ancestors = chain_to_root(parent_of(job_.path));
    return ready;
  }
  if (S_ISDIR(status.st_mode)) {
    ready.kind = PathKind::directory;
    ready.ancestors = chain_to_root(job_.path);
    return ready;
  }
  ready.ancestors = chain_to_root(parent_of(job_.path));
  if (S_ISREG(status.st_mode)) {
    ready.kind = PathKind::file;
    // As a shell's ">" does, which makes no file either.
    ready.new_mode = status.st_mode & 0777;
    if (only_file_mode_) only_file_mode_ = ready.new_mode;
  } else if (S_ISSOCK(status.st_mode)) {
    ready.kind = PathKind::unusable;
  } else {
    // Kept open: a FIFO's reader would take it for the end of all if its only writer went.
    in_place_.reset(::open(job_.path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    const bool seekable = in_place_ && ::lseek(in_place_.get(), 0, SEEK_CUR) >= 0;
    ready.kind = seekable ? PathKind::special : PathKind::byte_stream;
  }
  return ready;
}

Result<void> Target::open_in_place() {
  if (job_.standard_output) {
    in_place_.reset(::fcntl(standard_.output, F_DUPFD_CLOEXEC, 3));
    if (!in_place_) return io::errno_error("write", standard_.output_name);
    io::enlarge_pipe(in_place_.get());
    ordered_ = true;
    root_name_ = standard_.output_name;
    return {};
  }
  root_name_ = job_.path;
  // Not blocking, or a FIFO without a reader would hold the agent up for ever.
  if (!in_place_) {
    in_place_.reset(::open(job_.path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
  if (!in_place_) return io::errno_error("open", job_.path);
  if (::fcntl(in_place_.get(), F_SETFL, ::fcntl(in_place_.get(), F_GETFL) & ~O_NONBLOCK) != 0) {
    return io::errno_error("open", job_.path);
  }
  ordered_ = ::lseek(in_place_.get(), 0, SEEK_CUR) < 0;
  return {};
}

Result<void> Target::begin(const Begin& begin) {
  const bool one_file = only_file_mode_.has_value();
  const bool has_place = kind_ == PathKind::byte_stream || kind_ == PathKind::special;
  // The name of a file that is fixed here is not the source's to say, so it may say any.
  io::Result<AdmittedNames> admitted =
      one_file ? AdmittedNames::all() : AdmittedNames::create(begin.landings);
  if (!admitted) return std::move(admitted).error();
  admitted_ = std::move(*admitted);
  const bool in_place = one_file ? has_place : begin.in_place;
  terms_ = terms_of(job_, begin.streams, one_file, in_place);
  if (in_place) return open_in_place();
  auto filter = Filter::create(job_.selection.rules, job_.selection.delete_excluded);
  if (!filter) return std::move(filter).error();
  in_place_.reset();
  root_name_ = one_file || begin.beneath_parent ? parent_of(job_.path) : job_.path;
  root_.reset(::open(root_name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root_) return io::errno_error("open directory", root_name_);
  gate_.begin(root_.get(), std::move(*filter), begin.landings.empty() ? "" : begin.landings.front(),
              begin.source_device, begin.source_inode);
  if (root_name_ == ".") root_name_.clear();
  if (own_name(job_.marker) == OwnName::run) {
    makes_ = begin.beneath_parent ? last_name(job_.path) : std::string();
    marker_ = RunMarker::make(root_.get(), job_.marker, makes_);
    if (!marker_ && lacks_locks(errno)) no_locks_ = true;
  }
  spellings_.begin(root_.get(), marker_ ? job_.marker : "");
  return {};
}

// What takes the place of any entry that the source sends.
Entry Target::only_file() const {
  Entry entry;
  entry.path = job_.path.substr(job_.path.find_last_of('/') + 1);
  entry.mode = *only_file_mode_;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  entry.mtime = {now.tv_sec, static_cast<std::uint32_t>(now.tv_nsec)};
  return entry;
}

void Target::run_worker(std::size_t index, const StreamMaker& make_stream, const net::StreamShape& shape) {
  TargetWorker worker(*this, index, shape);
  worker.run(make_stream);
  if (worker.has_put()) put_ = true;
  if (worker.met_no_locks()) no_locks_ = true;
}

void Target::copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
                  FurtherStreams* further) {
  done_.streams.resize(streams.size());
  StreamSupervisor crew(
      streams_, [&](std::size_t i, const StreamMaker& make_stream) { run_worker(i, make_stream, shape); },
      [this] { return stopped_ || refusing_; },
      [this](const io::Error& error) {
        reporter_.fatal(error);
        refuse_all();
      });
  crew.run(streams, further, std::chrono::seconds(job_.settings.retry_seconds));
  files_.clear();
  changes_.finish();
  if (gate_.skipped() > 0) {
    reporter_.problem(io::plain_error(ErrorKind::file, "delete in", root_name_,
                                      "more than --max-delete is extra; the rest of it was left"));
  }
  bool complete = streams_.any_ended() && !stopped_ && !refusing_;
  if (marker_ && (complete || has_left_nothing())) remove_marker();
  if (complete && job_.settings.fsync && !flush()) complete = false;
  std::lock_guard lock(mutex_);
  done_.complete = complete;
}

// The run has failed (a full disk, a signal) before anything of it was there that the same command could go
// on with. A directory that it made does not count, unless that is DST, which the same command is to find
// again.
bool Target::has_left_nothing() const {
  struct stat status {};
  const bool made =
      !makes_.empty() && ::fstatat(root_.get(), makes_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return marker_->is_new() && !put_ && parts_ == 0 && !made;
}

void Target::remove_marker() {
  auto removed = marker_->remove(root_.get());
  if (removed) return;
  io::Error error = std::move(removed).error();
  error.subject = join_path(root_name_, error.subject);
  reporter_.problem(error);
}

// Names and directories; files were flushed before they got theirs. What is written in place, too: a device
// is flushed, a pipe has nothing to flush. False: reported.
bool Target::flush() {
  const int flushed = root_ ? ::syncfs(root_.get()) : ::fsync(in_place_.get());
  if (flushed == 0 || (!root_ && (errno == EINVAL || errno == EROFS || errno == ENOTSUP))) return true;
  reporter_.fatal(io::errno_error("flush", root_name_));
  return false;
}

Done Target::result() const {
  std::lock_guard lock(mutex_);
  Done done = done_;
  done.bytes = bytes_;
  const std::vector<std::string> lost = streams_.lost();
  if (done.complete) done.lost_streams.assign(lost.begin(), lost.end());
  for (const Losses::Item& item : losses_.items()) {
    done.losses.push_back({item.kind, item.count, item.first_path, item.cause});
  }
  if (no_locks_) done.warnings.push_back(root_name_ + ": " + kNoLocks);
  if (spellings_.is_full()) {
    done.warnings.push_back("not compared in upper and lower case: names beyond the first " +
                            std::to_string(Spellings::kRemembered));
  }
  if (misread_ > 0) {
    done.warnings.push_back("read back from the disk other than written: " + std::to_string(misread_) +
                            (misread_ == 1 ? " piece" : " pieces") + ", first of " + first_misread_);
  }
  if (job_.settings.verify && in_place_) {
    done.warnings.push_back("not verified: " + root_name_ + " is written in place, as devices and pipes are");
  } else if (job_.settings.verify) {
    done.notes.push_back(
        read_from_cache_
            ? "verified: some of it through the page cache, where the filesystem knows nothing else"
            : "verified: all read back from the disk");
  }
  return done;
}

// The source sends it again, and gives up after some tries.
void Target::note_misread(const std::string& subject) {
  std::lock_guard lock(mutex_);
  if (misread_++ == 0) first_misread_ = subject;
}

}  // namespace rdcp::tree
