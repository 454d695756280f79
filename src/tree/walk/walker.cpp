#include "tree/walk/walker.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <memory>

#include "tree/fs/directory_reader.h"
#include "tree/fs/own_names.h"
#include "tree/walk/travels.h"
#include "tree/walk/walker_thread.h"

namespace rdcp::tree {

void Walker::Thread::flush() {
  if (batch_.items.empty()) return;
  walker_.plan_.add(std::exchange(batch_, {}));
  batch_bytes_ = 0;
  ++batch_serial_;
}

void Walker::Thread::append(Item item) {
  if (item.kind == Item::Kind::finish) {
    item.directory->add_finish_to_batch(batch_serial_);
  } else {
    item.directory->add_to_batch(batch_serial_);
  }
  constexpr std::uint64_t kEntryBytes = 1536;  // pax header, its body and the ustar header
  batch_bytes_ += kEntryBytes + item.name.size() + item.directory->local_path().size() +
                  (S_ISREG(item.status.st_mode) ? static_cast<std::uint64_t>(item.status.st_size) : 0);
  if (walker_.limits_.compares) batch_bytes_ = 0;  // most of it will not be sent
  batch_.items.push_back(std::move(item));
  if (batch_bytes_ >= walker_.limits_.batch_bytes || batch_.items.size() >= walker_.limits_.batch_items)
    flush();
}

// A non-directory: into the batch, alone, or to the links.
void Walker::Thread::add_item(Item item) {
  item.directory->add_child();
  const bool regular = S_ISREG(item.status.st_mode);
  if (item.status.st_nlink > 1 && !walker_.plan_.linked().is_first(item)) {
    item.kind = Item::Kind::hard_link;
    walker_.plan_.count(1, 0);
    walker_.plan_.linked().add(std::move(item));
    return;
  }
  const auto size = regular ? static_cast<std::uint64_t>(item.status.st_size) : 0;
  walker_.plan_.count(1, size);
  if (!walker_.limits_.compares && travels_alone(item.status, walker_.limits_.small_file_max)) {
    walker_.plan_.add(std::make_shared<FileTransfer>(std::move(item)));
  } else {
    append(std::move(item));
  }
}

bool Walker::Thread::open_level(Level& level) {
  const DirectoryTracker& directory = *level.directory;
  level.fd = directory.root().open(directory.local_path(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!level.fd) return false;
  return level.position == 0 || ::lseek(level.fd.get(), level.position, SEEK_SET) >= 0;
}

void Walker::Thread::walk(DirectoryRef top) {
  levels_.clear();
  levels_.emplace_back(std::move(top));
  while (!levels_.empty() && going()) {
    Level& level = levels_.back();
    if (!level.subdirectories.empty()) {
      DirectoryRef next = std::move(level.subdirectories.back());
      level.subdirectories.pop_back();
      // The other thread's batches must not come before the one that the parent is entered in.
      const bool may_offer = walker_.wants_offer();
      if (may_offer && walker_.limits_.compares) flush();
      if (may_offer && walker_.offer(next)) continue;
      if (levels_.size() >= kHeldOpen) {
        level.position = ::lseek(level.fd.get(), 0, SEEK_CUR);
        level.fd.reset();  // where the position is not known, going on there fails, which is told
      }
      levels_.emplace_back(std::move(next));
      continue;
    }
    if (level.at_end) {
      finish_level(level);
      levels_.pop_back();
      continue;
    }
    read_buffer(level);
  }
}

void Walker::Thread::read_buffer(Level& level) {
  DirectoryTracker& directory = *level.directory;
  const bool first = !std::exchange(level.started, true);
  if ((!level.fd && !open_level(level)) || (first && !note_directory(level))) {
    const io::Error error = io::errno_error("open directory", subject(directory));
    const bool turns_back = directory.root().follows && error.code == ELOOP;
    walker_.reading_.reporter.problem(
        turns_back ? io::plain_error(io::ErrorKind::file, error.operation, error.subject,
                                     "a symbolic link leads back to a directory that this lies in")
                   : error);
    level.at_end = true;
    if (first) directory.set_unreadable();  // it has no metadata to be finished with
    return;
  }
  if (!level.names.empty()) {
    name_some(level);
  } else if (directory.scope().whole) {
    list_some(level);
  } else {
    level.at_end = true;
  }
}

// Returns false, with errno set, if the directory cannot be looked up; then nothing in it is copied.
bool Walker::Thread::note_directory(Level& level) {
  struct stat status {};
  if (::fstat(level.fd.get(), &status) != 0) return false;
  if (level.directory->root().follows) {
    level.directory->set_id(FileId::of(status));
    if (level.directory->is_its_own_ancestor()) return errno = ELOOP, false;
  }
  level.names = level.directory->scope().names;
  Entry metadata;
  walker_.reading_.fill(status, metadata);
  metadata.size = 0;
  const auto read = walker_.reading_.read_xattrs(level.fd.get(), false, metadata);
  if (!read) walker_.reading_.reporter.problem(io::about(subject(*level.directory), read.error()));
  level.directory->set_metadata(std::move(metadata));
  if (walker_.limits_.compares) enter(level.directory);
  return true;
}

void Walker::Thread::list_some(Level& level) {
  const long bytes = ::syscall(SYS_getdents64, level.fd.get(), buffer_.data(), buffer_.size());
  if (bytes < 0)
    walker_.reading_.reporter.problem(io::errno_error("list directory", subject(*level.directory)));
  if (bytes <= 0) level.at_end = true;
  for (long at = 0; at < bytes;) {
    const auto* raw = reinterpret_cast<const RawEntry*>(buffer_.data() + at);
    at += raw->length;
    if (is_dot(raw->name) || is_left_by_a_run(raw->name) || is_named(level, raw->name)) continue;
    add_entry(level, raw->name, raw->type);
  }
}

bool Walker::Thread::hides(const Item& item) const {
  const Choice& choice = walker_.choice_;
  if (S_ISREG(item.status.st_mode) &&
      !choice.selection.sends_size(static_cast<std::uint64_t>(item.status.st_size))) {
    return true;
  }
  return !choice.filter.empty() && choice.filter.hides(item.filter_path(), S_ISDIR(item.status.st_mode));
}

void Walker::Thread::enter(const DirectoryRef& directory) {
  directory->add_comparison();
  Item item;
  item.kind = Item::Kind::enter;
  item.directory = directory;
  append(std::move(item));
}

// `type` is the one that getdents64(2) reports. For a directory it suffices here; the directory is looked up
// when it is open.
void Walker::Thread::add_entry(Level& level, const char* name, unsigned char type) {
  Item item;
  item.directory = level.directory;
  item.name = name;
  if (type == DT_DIR && !walker_.choice_.selection.one_file_system) {
    item.status.st_mode = S_IFDIR;
  } else if (::fstatat(level.fd.get(), name, &item.status, level.directory->root().stat_flags()) != 0) {
    walker_.reading_.reporter.problem(io::errno_error("stat", item.subject()));
    return;
  }
  if (hides(item)) return;
  // A mount point is copied as the empty directory that unmounting would leave.
  const dev_t device = level.directory->scope().device;
  const bool whole = walker_.choice_.recursive &&
                     (!walker_.choice_.selection.one_file_system || item.status.st_dev == device);
  add_found(level, std::move(item), {.whole = whole, .device = device});
}

// scope: of a directory.
void Walker::Thread::add_found(Level& level, Item item, const DirectoryScope& scope) {
  if (const Root* first = walker_.shared_.taken_by(item)) {
    return walker_.reading_.reporter.problem(
        io::plain_error(io::ErrorKind::file, "copy", item.subject(),
                        "SRC " + first->given + " puts another one in its place, and comes first"));
  }
  if (S_ISDIR(item.status.st_mode)) {
    level.subdirectories.push_back(std::make_shared<DirectoryTracker>(level.directory, item.name, scope));
    return;
  }
  if (S_ISLNK(item.status.st_mode)) {
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(level.fd.get(), item.name.c_str(), target, sizeof target);
    if (length < 0) {
      walker_.reading_.reporter.problem(io::errno_error("read link", item.subject()));
      return;
    }
    item.link_target.assign(target, static_cast<std::size_t>(length));
  }
  // Here and not where it is compared: the directory is open, and the kernel has just looked the name up.
  const auto& digest_max = walker_.limits_.digest_max;
  const bool is_opened = digest_max && S_ISREG(item.status.st_mode) && item.status.st_nlink == 1 &&
                         !is_compared_open(item.status, *digest_max);
  if (walker_.limits_.compares && !is_opened && !level.directory->root().follows) {
    item.plain = !may_have_xattrs(level.fd.get(), item.name.c_str(), walker_.reading_.policy);
  }
  add_item(std::move(item));
}

// When all that is in a directory lies in the batch being filled, its own metadata follows in the same
// archive.
void Walker::Thread::finish_level(Level& level) {
  const DirectoryRef& directory = level.directory;
  if (directory->lies_in_batch(batch_serial_)) {
    Item item;
    item.kind = Item::Kind::finish;
    item.directory = directory;
    append(std::move(item));
  } else {
    walker_.plan_.listed(directory);
  }
}

void Walker::Thread::add_single(const Root& root) {
  Level level(std::make_shared<DirectoryTracker>(root));
  level.fd.reset(::fcntl(root.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!level.fd) return walker_.reading_.reporter.problem(io::errno_error("open", root.given));
  add_entry(level, root.name.c_str(), DT_UNKNOWN);
}

Walker::Walker(Plan& plan, const std::vector<Root>& roots, const Choice& choice, const WalkLimits& limits,
               const ReadContext& reading)
    : plan_(plan),
      roots_(roots),
      choice_(choice),
      shared_(roots, choice),
      limits_(limits),
      reading_(reading) {}

Walker::~Walker() {
  plan_.stop();
  {
    std::lock_guard lock(mutex_);
    over_ = true;
    offered_changed_.notify_all();
  }
  for (io::Thread& thread : threads_) thread.join();
}

io::Result<void> Walker::start(unsigned threads) {
  for (const Root& root : roots_) {
    if (!root.single && !choice_.filter.hides(root.filter_path, true)) add_top(root);
  }
  // They begin when it is known how many there are.
  const std::lock_guard lock(mutex_);
  while (threads_.size() < threads) {
    auto thread = io::Thread::start("a thread that walks the tree", [this, first = threads_.empty()] {
      { const std::lock_guard begin(mutex_); }
      if (first) walk_singles();
      run_thread();
    });
    if (!thread && threads_.empty()) return thread.error();
    if (!thread) break;
    threads_.push_back(std::move(*thread));
  }
  thread_count_ = running_threads_ = static_cast<unsigned>(threads_.size());
  return {};
}

void Walker::walk_singles() {
  Thread singles(*this);
  for (const Root& root : roots_) {
    if (root.single && !root.opened) singles.add_single(root);
  }
  singles.flush();
}

void Walker::add_top(const Root& root) {
  DirectoryScope scope;
  struct stat status {};
  if (::fstat(root.fd.get(), &status) != 0)
    return reading_.reporter.problem(io::errno_error("stat", root.given));
  scope.device = status.st_dev;
  if (choice_.selection.named_only) {
    scope.names = choice_.names.all();
    scope.whole = choice_.names.take_content(scope.names);
    scope.passed_through = !scope.whole;
  }
  constexpr bool kOffered = true;
  offered_.push_back(std::make_shared<DirectoryTracker>(root, scope, kOffered));
}

void Walker::run_thread() {
  auto thread = std::make_unique<Thread>(*this);
  DirectoryRef directory;
  while (take_offered(directory)) {
    thread->walk(std::move(directory));
    std::unique_lock lock(mutex_);
    const bool more = !offered_.empty();
    lock.unlock();
    if (!more) thread->flush();
  }
  thread->flush();
  std::lock_guard lock(mutex_);
  if (--running_threads_ == 0) plan_.walk_finished();
}

// Waits for a directory; false when all threads wait, so that none can come any more.
bool Walker::take_offered(DirectoryRef& directory) {
  std::unique_lock lock(mutex_);
  ++idle_threads_;
  if (idle_threads_ == thread_count_ && offered_.empty() && !over_) {
    over_ = true;
    offered_changed_.notify_all();
    lock.unlock();
    return false;
  }
  offered_changed_.wait(lock, [this] { return over_ || !offered_.empty(); });
  if (offered_.empty()) return false;
  --idle_threads_;
  directory = std::move(offered_.front());
  offered_.pop_front();
  return true;
}

bool Walker::wants_offer() {
  if (thread_count_ < 2) return false;
  std::lock_guard lock(mutex_);
  return idle_threads_ > 0 && offered_.size() < kOffered;
}

// Gives a directory to the other threads while they have little to do.
bool Walker::offer(DirectoryRef& directory) {
  if (thread_count_ < 2) return false;
  std::lock_guard lock(mutex_);
  if (idle_threads_ == 0 || offered_.size() >= kOffered) return false;
  directory->offer();
  offered_.push_back(std::move(directory));
  offered_changed_.notify_one();
  return true;
}

}  // namespace rdcp::tree
