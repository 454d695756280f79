#include "tree/source/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "tree/select/destination_mapping.h"
#include "tree/source/source_worker.h"
#include "tree/streams/stream_supervisor.h"

namespace rdcp::tree {

namespace {

// Files up to this size travel in archive chunks, if a chunk holds several; see "Small files" in
// ARCHITECTURE.md.
constexpr std::uint64_t kSmallFileMax = 128 << 10;
// About how full an archive chunk should be: smaller ones cost round trips, larger ones keep the other side
// waiting.
constexpr std::uint64_t kBatchBytes = 512 << 10;
constexpr std::size_t kBatchItems = 512;
constexpr std::size_t kComparedItems = net::Verdicts::kCount;  // a page, most of the time
// How much of a file one copy_range covers: enough to be worth the call, not so much that a signal has to
// wait.
constexpr std::uint64_t kByKernelBytes = 16 << 20;
constexpr unsigned kWalkThreadsMax = 2;

std::uint64_t small_file_max(std::size_t chunk_bytes) {
  return std::min<std::uint64_t>(kSmallFileMax, chunk_bytes / 4);
}

// With --bwlimit as much as has its turn in an eighth of a second, so that a copy within the kernel keeps to
// the rate, too.
std::uint64_t by_kernel_bytes(std::uint64_t bytes_per_second) {
  if (bytes_per_second == 0) return kByKernelBytes;
  return std::clamp(io::round_up(bytes_per_second / 8, kSmallFileMax), kSmallFileMax, kByKernelBytes);
}

// "a/b/" and "a/b" -> "a" and "b"; the parent of a bare name is ".".
std::pair<std::string, std::string> parent_and_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Source::Source(const SourceJob& job, Reporter& reporter, StandardStreams standard)
    : job_(job),
      reporter_(reporter),
      standard_(std::move(standard)),
      policy_(job.settings.policy()),
      small_file_max_(small_file_max(job.settings.chunk_bytes)),
      names_([&reporter](const io::Error& error) { reporter.problem(error); }),
      plan_(job.settings.chunk_bytes, by_kernel_bytes(job.bytes_per_second)),
      pacer_(job.bytes_per_second) {
  roots_.reserve(job_.paths.size());  // directories and items point to their roots
}

Source::~Source() {
  stop();
}

io::Result<void> Source::choose(NamedPaths names) {
  const bool recursive = job_.recursive || !job_.selection.named_only;
  auto choice = Choice::create(job_.selection, recursive, std::move(names));
  if (!choice) return choice.error();
  choice_ = std::move(*choice);
  return {};
}

std::vector<PathFacts> Source::open() {
  std::vector<PathFacts> facts;
  for (const std::string& path : job_.paths) {
    const std::size_t before = roots_.size();
    facts.push_back(open_one(path));
    root_of_path_.push_back(roots_.size() > before ? static_cast<int>(before) : -1);
    if (roots_.size() > before && !means_contents(path) && !job_.settings.sync.mirror)
      roots_.back().filter_path = last_name(path);
  }
  return facts;
}

PathFacts Source::refuse_root(const io::Error& why) {
  reporter_.problem(why);
  return {.kind = PathKind::unusable, .device = 0, .inode = 0};
}

// Every SRC that was opened gets here; one of which nothing can be learnt is no source.
PathFacts Source::add_root(Root root, PathKind kind) {
  if (kind == PathKind::byte_stream && job_.selection.has_bounds()) {
    return refuse_root(io::plain_error(io::ErrorKind::file, "copy", root.given,
                                       "its size is known to nobody before it has been read, so neither "
                                       "--max-size nor --min-size can be kept to"));
  }
  struct stat status {};
  if (::fstat(root.opened ? root.opened.get() : root.fd.get(), &status) != 0) {
    return refuse_root(io::errno_error("stat", root.given));
  }
  roots_.push_back(std::move(root));
  return {.kind = kind, .device = status.st_dev, .inode = status.st_ino};
}

// A file that can be opened anew is read through a descriptor of its own: O_DIRECT, set on the one that was
// given, would be seen by all who share it. One whose size says nothing (/proc) is read to its end, as a
// pipe.
PathFacts Source::open_standard_input() {
  Root root;
  root.given = standard_.input_name;
  root.single = true;
  root.opened.reset(::fcntl(standard_.input, F_DUPFD_CLOEXEC, 3));
  if (!root.opened) {
    return refuse_root(io::errno_error("read", root.given));
  }
  io::enlarge_pipe(root.opened.get());
  struct stat status {};
  const off_t at = ::lseek(root.opened.get(), 0, SEEK_CUR);
  if (standard_.input_by_extents && at >= 0 && ::fstat(root.opened.get(), &status) == 0 &&
      S_ISREG(status.st_mode) && at < status.st_size) {
    const std::string anew = "/proc/self/fd/" + std::to_string(root.opened.get());
    io::Fd own(::open(anew.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (own) {
      root.opened = std::move(own);
      root.begin = static_cast<std::uint64_t>(at);
    }
  }
  const PathKind kind = root.begin ? PathKind::file : PathKind::byte_stream;
  return add_root(std::move(root), kind);
}

PathFacts Source::open_one(const std::string& path) {
  if (job_.standard_input) return open_standard_input();
  struct stat status {};
  // With -r a symlink is copied as one, as cp -a and rsync do; with a slash behind it, or without -r, it is
  // followed.
  int follow = job_.recursive && !means_contents(path) ? AT_SYMLINK_NOFOLLOW : 0;
  // A mirror's SRC means what is in the directory, whatever leads to it.
  if (job_.settings.sync.mirror && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) follow = 0;
  if (::fstatat(AT_FDCWD, path.c_str(), &status, follow) != 0) {
    reporter_.problem(io::errno_error("open", path));
    return {};
  }
  if (S_ISDIR(status.st_mode)) return open_directory(path);
  if (!job_.recursive && !S_ISREG(status.st_mode)) return open_special(path, status.st_mode);

  std::string real = path;
  if (!job_.recursive) {
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
    if (resolved != nullptr) real = resolved.get();
  }
  auto [parent, name] = parent_and_name(real);
  Root root;
  root.given = path;
  root.name = name;
  root.single = true;
  root.fd.reset(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.fd) {
    return refuse_root(io::errno_error("open", parent));
  }
  roots_.push_back(std::move(root));
  const PathKind kind = S_ISREG(status.st_mode)   ? PathKind::file
                        : S_ISLNK(status.st_mode) ? PathKind::symlink
                                                  : PathKind::special;
  return {.kind = kind, .device = status.st_dev, .inode = status.st_ino};
}

PathFacts Source::open_directory(const std::string& path) {
  if (!job_.recursive && !job_.selection.named_only) {
    return refuse_root(
        io::plain_error(io::ErrorKind::file, "copy", path, "is a directory (use -r to copy it)"));
  }
  Root root;
  root.given = path;
  while (root.given.size() > 1 && root.given.ends_with('/')) root.given.pop_back();
  root.fd.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.fd) {
    return refuse_root(io::errno_error("open directory", path));
  }
  return add_root(std::move(root), PathKind::directory);
}

// Without -r a FIFO or a process substitution is read, as cp does; a device, which may be a disk or have no
// end, if that is what the user has asked for. A FIFO is opened without waiting for its writer: who hears the
// coordinator must not be held up.
PathFacts Source::open_special(const std::string& path, mode_t mode) {
  if ((S_ISCHR(mode) || S_ISBLK(mode)) && !job_.copy_devices) {
    return refuse_root(io::plain_error(io::ErrorKind::file, "copy", path,
                                       "is a device (use --copy-devices to copy what can be read from it)"));
  }
  Root root;
  root.given = path;
  root.single = true;
  root.waits_for_writer = S_ISFIFO(mode);
  const int waiting = root.waits_for_writer ? O_NONBLOCK : 0;
  root.opened.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waiting));
  if (!root.opened) {
    return refuse_root(io::errno_error("open", path));
  }
  return add_root(std::move(root), S_ISBLK(mode) ? PathKind::file : PathKind::byte_stream);
}

// A root that is open already: one large file, of known size (block device) or not.
void Source::add_opened(const Root& root) {
  Item item;
  item.directory = std::make_shared<DirectoryTracker>(root);
  item.directory->add_child();
  OpenedFile opened;
  opened.fd.reset(::fcntl(root.opened.get(), F_DUPFD_CLOEXEC, 3));
  if (!opened.fd) return reporter_.problem(io::errno_error("open", root.given));
  struct stat status {};
  bool known = ::fstat(opened.fd.get(), &status) == 0;
  if (known && S_ISBLK(status.st_mode)) {
    status.st_size = ::lseek(opened.fd.get(), 0, SEEK_END);
    known = status.st_size >= 0;
  }
  if (!known) {
    reporter_.problem(io::errno_error("stat", root.given));
    return;
  }
  const bool by_extents = root.begin || S_ISBLK(status.st_mode);
  if (by_extents) {
    const auto end = static_cast<std::uint64_t>(status.st_size);
    opened.begin = root.begin.value_or(0);
    opened.size = end - std::min(end, opened.begin);
    if (!job_.selection.sends_size(opened.size)) return;
  }
  plan_.count(1, opened.size);
  plan_.add(std::make_shared<FileTransfer>(std::move(item), std::move(opened), !by_extents));
}

io::Result<void> Source::start_walk() {
  const WalkLimits limits{
      .small_file_max = small_file_max_,
      .batch_bytes = std::min<std::uint64_t>(kBatchBytes, job_.settings.chunk_bytes / 2),
      .batch_items = job_.settings.sync.enabled ? kComparedItems : kBatchItems,
      .compares = job_.settings.sync.enabled,
      .digest_max = job_.settings.sync.checksum ? std::optional(digest_max()) : std::nullopt};
  if (job_.settings.sync.enabled) plan_.compare_first();
  if (job_.settings.sync.delete_extra && roots_.size() == 1 && !roots_.front().single) {
    const Root& root = roots_.front();
    names_walk_ = std::make_unique<NamesWalk>(root, choice_, job_.settings.sync.force, reporter_);
    plan_.set_last_work([this](Work& work) { return names_walk_->take(work.names); });
    const SyncSettings& sync = job_.settings.sync;
    if (sync.tells() && sync.max_delete != SyncSettings{}.max_delete) plan_.last_in_turn();
  }
  walker_ = std::make_unique<Walker>(plan_, roots_, choice_, limits, policy_, names_, reporter_);
  for (const Root& root : roots_) {
    if (root.opened && !choice_.filter.hides(root.filter_path, false)) add_opened(root);
  }
  // Of a file's names the one that is met first is told as the file, and the others as links to it: one
  // thread meets them in the same order each time, so that a dry run tells what the run tells.
  const unsigned most = job_.settings.sync.tells() ? 1 : kWalkThreadsMax;
  return walker_->start(std::min(io::processors(), most));
}

void Source::set_landings(const std::vector<std::string>& landings) {
  for (std::size_t i = 0; i < root_of_path_.size() && i < landings.size(); ++i) {
    if (root_of_path_[i] >= 0) roots_[static_cast<std::size_t>(root_of_path_[i])].landing = landings[i];
  }
}

void Source::land_beneath_parent() {
  if (sums_ != nullptr && roots_.size() == 1 && !roots_.front().single)
    sums_->set_top(roots_.front().landing);
}

void Source::copy(const std::vector<StreamMaker>& streams, const net::StreamShape& shape,
                  FurtherStreams* further) {
  // The walker may have sorted by larger chunks: what does not fit an archive chunk now is packed as grown.
  shape_ = shape;
  small_file_max_ = small_file_max(shape.slot_bytes);
  plan_.set_extent_bytes(shape.slot_bytes);
  read_beside_ = streams.size() == 1 && io::processors() > 1;
  done_.streams.resize(streams.size());
  StreamSupervisor crew(
      streams_,
      [&](std::size_t i, const StreamMaker& make_stream) { SourceWorker(*this, i).run(make_stream); },
      [this] { return plan_.stopped(); },
      [this](const io::Error& error) {
        reporter_.fatal(error);
        plan_.stop();
      });
  crew.run(streams, further, std::chrono::seconds(job_.settings.retry_seconds));
  if (sums_ != nullptr) sums_->finish();
  std::lock_guard lock(mutex_);
  done_.complete = streams_.any_ended() && !plan_.stopped();
}

void Source::stop() {
  stopped_ = true;
  plan_.stop();
}

Progress Source::progress() const {
  const PlanTotals totals = plan_.totals();
  std::lock_guard lock(mutex_);
  return {.bytes_done = counters_.bytes,
          .files_done = counters_.files + counters_.others,
          .bytes_total = totals.bytes,
          .files_total = totals.files,
          .total_known = totals.complete,
          .path = current_path_};
}

Done Source::result() const {
  std::lock_guard lock(mutex_);
  Done done = done_;
  done.files = counters_.files;
  done.directories = counters_.directories;
  done.others = counters_.others;
  done.bytes = counters_.bytes;
  done.resent_chunks = counters_.resent_chunks;
  done.kept_bytes = counters_.kept_bytes;
  done.wire_bytes = counters_.wire_bytes;
  const std::vector<std::string> lost = streams_.lost();
  if (done.complete) done.lost_streams.assign(lost.begin(), lost.end());
  return done;
}

}  // namespace rdcp::tree
