#include "tree/session/target_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "io/retry.h"
#include "io/whole_range.h"
#include "tree/fs/beneath.h"
#include "tree/fs/heard_close.h"
#include "tree/fs/special.h"
#include "tree/meta/kept_times.h"
#include "tree/mirror/make_way.h"
#include "tree/resume/own_lock.h"

namespace rdcp::tree {
namespace {

// The entry's content into an empty file, holes left out. A peer that sends other than it announced is told
// so.
io::Result<void> write_content(int fd, const Entry& entry, ArchiveReader& content, std::string_view subject,
                               std::vector<ArchiveReader::Block>* blocks) {
  std::uint64_t filled = 0;
  std::uint64_t end = 0;
  for (;;) {
    auto block = content.next_block();
    if (!block) return std::move(block).error();
    if (!*block) break;
    const auto [bytes, offset] = **block;
    if (offset < end || offset > entry.size || bytes.size() > entry.size - offset) {
      return io::plain_error(io::ErrorKind::protocol, "write", subject, "content outside the announced size");
    }
    if (const int code = io::write_range(fd, bytes, offset); code != 0) {
      return io::errno_error("write", subject, code);
    }
    if (blocks != nullptr) blocks->push_back(**block);
    filled += bytes.size();
    end = offset + bytes.size();
  }
  if (entry.data.empty() && filled < entry.size) {
    return io::plain_error(io::ErrorKind::protocol, "write", subject, "content ends early");
  }
  if (end < entry.size &&
      io::retry_eintr([&] { return ::ftruncate(fd, static_cast<off_t>(entry.size)); }) < 0) {
    return io::errno_error("truncate", subject);
  }
  return {};
}

// Only directories may have the empty path.
io::Error of_the_root(std::string_view operation, std::string_view subject) {
  return io::plain_error(io::ErrorKind::protocol, operation, subject, "it is the root of the copy");
}

}  // namespace

TargetTree::TargetTree(int root, std::string root_name, const MetadataContext& metadata,
                       EarlierCopies& earlier, Naming naming)
    : root_(root),
      root_name_(std::move(root_name)),
      metadata_(metadata),
      earlier_(earlier),
      directories_(root, earlier.opened),
      naming_(naming) {}

void TargetTree::ask(RemovalGate& gate) {
  gate_ = &gate;
  directories_.ask([this](int parent, const std::string& name, std::string_view path) {
    const int cause = errno;
    auto permit = gate_->gives_way_to_directory(parent, name);
    const auto kept = permit && earlier_.backups ? earlier_.backups->keep(parent, name, path, subject(path))
                                                 : io::Result<void>();
    if (!kept) not_kept_ = kept.error();
    errno = cause;
    return kept ? permit : std::nullopt;
  });
}

io::Result<void> TargetTree::put_file(const Entry& entry, ArchiveReader& content) {
  auto written = write_file(entry, content);
  if (!written) return std::move(written).error();
  return name_file(entry, *written);
}

io::Result<TargetTree::WrittenFile> TargetTree::write_file(const Entry& entry, ArchiveReader& content,
                                                           std::vector<ArchiveReader::Block>* blocks) {
  assert(entry.type == EntryType::file);
  const std::string name = subject(entry.path);
  auto created = create(entry, name);
  if (!created) return std::move(created).error();
  auto& [directory, file] = *created;
  auto written = write_content(file.fd(), entry, content, name, blocks);
  if (!written) return std::move(written).error();
  const std::uint32_t mode = known_mode(EntryPathView(entry.path).parent(), directory, file);
  if (silent_close_) file.expect_silent_close();
  return WrittenFile{std::move(file), mode};
}

io::Result<void> TargetTree::name_file(const Entry& entry, WrittenFile& written) {
  UnnamedFile& file = written.file;
  const std::string name = subject(entry.path);
  auto set = apply_metadata(file.fd(), entry, written.known_mode, metadata_, name);
  if (!set) return set;
  if (auto flushed = flush(file.fd(), name); !flushed) return flushed;

  // close(2) tells on NFS whether the bytes have arrived: before they are seen, where the file can be named
  // without its descriptor.
  const bool close_first = file.naming() == Naming::rename;
  if (close_first) {
    if (auto closed = file.close(name); !closed) return closed;
  }
  auto named = make_in_parent(entry.path, [&](int parent) {
    return publish(parent, entry, [&](const std::string& last) { return file.publish(parent, last, name); });
  });
  if (!named) return named;
  return close_first ? io::Result<void>{} : file.close(name);
}

io::Result<void> TargetTree::put_special(const Entry& entry) {
  const std::string name = subject(entry.path);
  if (entry.type == EntryType::hard_link) return put_hard_link(entry, name);

  if (entry.link_target.find('\0') != std::string::npos) {
    return io::plain_error(io::ErrorKind::protocol, "create", name, "NUL in a symlink");
  }
  const FinishInode finish = [&](int fd) { return apply_metadata_path_fd(fd, entry, metadata_, name); };
  auto made = make_in_parent(entry.path, [&](int directory) {
    return publish(directory, entry, [&](const std::string& last) {
      return make_special({directory, last, name}, entry, finish);
    });
  });
  const bool is_device = entry.type == EntryType::char_device || entry.type == EntryType::block_device;
  if (!made && is_device && !for_good_ && may_not_make_nodes(made.error())) {
    metadata_.losses.note(LossKind::device_node, name, std::strerror(EPERM));
    return {};
  }
  return made;
}

io::Result<void> TargetTree::put_hard_link(const Entry& entry, std::string_view name) {
  const EntryPathView first(entry.first_name);
  if (first.empty()) return io::plain_error(io::ErrorKind::protocol, "link", name, "to the root");
  const io::Fd target_directory = open_beneath(root_, first.parent().text(), O_PATH | O_DIRECTORY);
  if (!target_directory) return io::errno_error("open directory", subject(first.parent().text()));
  return make_in_parent(entry.path, [&](int directory) {
    return publish(directory, entry, [&](const std::string& last) {
      return make_hard_link({directory, last, name}, target_directory.get(), std::string(first.name()));
    });
  });
}

io::Result<bool> TargetTree::link_file(EntryPathView path, int directory, const std::string& name,
                                       const struct stat& looked_at) {
  const std::string shown = subject(path.text());
  return make_in_parent(path, [&](int parent) -> io::Result<bool> {
    bool linked = false;
    with_times_kept(parent, subject(path.parent().text()), metadata_.losses, [&] {
      linked = link_unchanged({parent, std::string(path.name()), shown}, directory, name, looked_at);
    });
    if (!linked) return false;
    auto noted = note_put(parent, path);
    return noted ? io::Result<bool>(true) : std::move(noted).error();
  });
}

io::Result<void> TargetTree::publish(
    int directory, const Entry& entry,
    const std::function<io::Result<void>(const std::string& name)>& publish) {
  const EntryPathView path = entry.path;
  const std::string name(path.name());
  const auto keep_and_publish = [&] {
    const auto kept = earlier_.backups
                          ? earlier_.backups->keep(directory, name, path.text(), subject(path.text()), &entry)
                          : io::Result<void>();
    return kept ? publish(name) : kept;
  };
  auto done = keep_and_publish();
  if (!done && done.error().code == EACCES && directories_.open_up(directory, path.parent()))
    done = keep_and_publish();
  if (done) return note_put(directory, path);
  if (done.error().code != EISDIR || gate_ == nullptr) return done;
  done = replace_directory(*gate_, {directory, name, path, subject(path.text())}, publish,
                           Exchange::automatic, earlier_.backups ? &*earlier_.backups : nullptr);
  if (done) done = note_put(directory, path);
  directories_.clear();  // some of it may be among them
  return done;
}

io::Result<void> TargetTree::set_attributes(const Entry& entry) {
  const std::string name = subject(entry.path);
  if (entry.path.empty()) return of_the_root("set attributes of", name);
  if (auto claimed = claim_(entry.path); !claimed) return claimed;
  const io::Fd fd = open_beneath(root_, entry.path, O_PATH | O_NOFOLLOW);
  if (!fd) return io::errno_error("set attributes of", name);
  if (auto may = may_set_metadata(fd.get(), entry.type, name); !may) return may;
  if (entry.type == EntryType::directory) earlier_.opened.forget(entry.path.text());
  auto set = apply_metadata_path_fd(fd.get(), entry, metadata_, name);
  return set ? flush_elsewhere(fd.get(), name) : set;
}

io::Result<void> TargetTree::finish_directory(const Entry& entry) {
  if (auto claimed = claim_(entry.path); !claimed) return claimed;
  asked_parent_.reset();  // it may be given a default ACL now
  auto directory = open_directory(entry.path);
  if (!directory) return std::move(directory).error();
  const std::string name = subject(entry.path);
  earlier_.opened.forget(entry.path.text());
  auto set = apply_metadata(*directory, entry, ~0u, metadata_, name);
  return set ? flush_elsewhere(*directory, name) : set;
}

io::Result<void> TargetTree::forget_part(EntryPathView path) {
  const auto directory = open_directory(path.parent());
  if (!directory) return {};
  io::Result<void> forgotten;
  with_times_kept(*directory, subject(path.parent().text()), metadata_.losses,
                  [&] { forgotten = PartFile::forget(*directory, path.name()); });
  return beside(path, std::move(forgotten));
}

io::Result<void> TargetTree::beside(EntryPathView path, io::Result<void> done) const {
  if (done) return done;
  io::Error error = std::move(done).error();
  error.subject = subject(join_path(path.parent().text(), error.subject));
  return error;
}

io::Result<void> TargetTree::flush(int fd, std::string_view subject) const {
  if (flushes_ && ::fsync(fd) != 0) return io::errno_error("flush", subject);
  return {};
}

io::Result<void> TargetTree::flush_elsewhere(int fd, std::string_view subject) const {
  struct stat here {};
  if (!flushes_) return {};
  if (::fstat(fd, &here) != 0) return io::errno_error("flush", subject);
  if (is_reached(here) || !(S_ISREG(here.st_mode) || S_ISDIR(here.st_mode))) return {};
  if (::fsync(fd) == 0) return {};
  if (errno != EBADF) return io::errno_error("flush", subject);
  // It is an O_PATH descriptor; the magic link leads to the very same inode.
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const io::Fd readable(::open(link.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (!readable) return io::errno_error("flush", subject);
  return flush(readable.get(), subject);
}

io::Result<void> TargetTree::note_put(int directory, EntryPathView path) {
  has_put_ = true;
  struct stat here {};
  if (for_good_ && (::fstat(directory, &here) != 0 || !is_reached(here)))
    named_in_.insert(EntryPath::beneath(path.parent().parent(), path.parent().name()));
  return named_(path);
}

io::Result<void> TargetTree::flush_names() {
  if (syncfs_reaches_ && ::syncfs(root_) != 0) return io::errno_error("flush", root_name_);
  for (const EntryPath& directory : std::exchange(named_in_, {})) {
    EntryPathView path = directory;
    for (bool at_root = false; !at_root; path = path.parent()) {
      if (auto flushed = flush_directory(path); !flushed) return flushed;
      at_root = path.empty();
    }
  }
  return {};
}

io::Result<void> TargetTree::flush_directory(EntryPathView path) {
  const auto directory = open_directory(path);
  if (!directory) return directory.error();
  return flush(*directory, subject(path.text()));
}

void TargetTree::flush_all() {
  struct stat root {};
  flushes_ = true;
  syncfs_reaches_ = ::fstat(root_, &root) == 0 && syncfs_reaches_disk(root_);
  device_ = root.st_dev;
}

io::Result<TargetTree::OpenedFile> TargetTree::open_file(const Entry& entry, const PartWish* wish) {
  const std::string name = subject(entry.path);
  if (wish != nullptr) {
    auto opened = make_in_parent(entry.path, [&](int directory) -> io::Result<OpenedFile> {
      auto part = PartFile::open(directory, EntryPathView(entry.path).name(), *wish);
      if (!part) met_no_locks_ = met_no_locks_ || lacks_locks(errno);
      io::Fd held(part ? ::fcntl(directory, F_DUPFD_CLOEXEC, 0) : -1);
      if (!held) return io::errno_error("create", name);
      UnnamedFile file = part->take_file();
      return OpenedFile{std::move(held), std::move(file), std::move(part)};
    });
    if (opened) return opened;
  }
  auto created = create(entry, name);
  if (!created) return std::move(created).error();
  OpenedFile opened{io::Fd(::fcntl(created->directory, F_DUPFD_CLOEXEC, 0)), std::move(created->file), {}};
  if (!opened.directory) return io::errno_error("create", name);
  return opened;
}

io::Fd TargetTree::open_old(EntryPathView path, int access) {
  errno = ENOENT;
  if (path.empty()) return {};
  // A FIFO's other end would see it opened, and to open a device may do something (a tape is rewound).
  io::Fd there = open_beneath(root_, path.text(), O_PATH | O_NOFOLLOW);
  // To read an old file is not worth a change of its directory; to write it is what the user wants.
  if (!there && errno == EACCES && access != O_RDONLY && may_search(path.parent()))
    there = open_beneath(root_, path.text(), O_PATH | O_NOFOLLOW);
  struct stat seen {};
  if (!there || ::fstat(there.get(), &seen) != 0) return {};
  errno = ENOENT;
  if (!S_ISREG(seen.st_mode)) return {};
  io::Fd fd = open_beneath(root_, path.text(), access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || S_ISREG(status.st_mode)) return fd;
  errno = ENOENT;
  return {};
}

std::string TargetTree::subject(std::string_view path) const {
  return join_path(root_name_, path);
}

// Calls make with the descriptor of the parent of `path`; once more where what stood in its way can be
// mended.
template <class Make>
auto TargetTree::make_in_parent(EntryPathView path, Make make) -> decltype(make(0)) {
  if (path.empty()) return of_the_root("create", root_name_);
  if (auto claimed = claim_(path); !claimed) return std::move(claimed).error();
  for (bool again = false;; again = true) {
    auto directory = open_directory(path.parent());
    if (!directory) return std::move(directory).error();
    auto made = make(*directory);
    if (made || again) return made;
    if (is_mended_by_forgetting(made.error())) {
      directories_.clear();
    } else if (made.error().code != EACCES || !directories_.open_up(*directory, path.parent())) {
      return made;
    }
  }
}

io::Result<int> TargetTree::open_directory(EntryPathView path) {
  auto directory = directories_.open(path);
  if (directory) return directory;
  if (auto cause = std::exchange(not_kept_, std::nullopt)) return std::move(*cause);
  io::Error error = std::move(directory).error();
  error.subject = subject(error.subject);
  return error;
}

bool TargetTree::may_search(EntryPathView path) {
  const auto directory = open_directory(path);
  const bool may = directory && directories_.open_up(*directory, path);
  errno = EACCES;
  return may;
}

io::Result<TargetTree::Created> TargetTree::create(const Entry& entry, std::string_view name) {
  return make_in_parent(entry.path, [&](int directory) -> io::Result<Created> {
    auto file = UnnamedFile::create(directory, EntryPathView(entry.path).name(), entry.mode, name, naming_);
    if (!file) return std::move(file).error();
    if (naming_ == Naming::automatic) naming_ = file->naming();
    return Created{directory, std::move(*file)};
  });
}

// Facts that apply_metadata() need not look up, and whether close(2) may tell something. Small files come
// directory by directory, so the answer for the last one is enough.
std::uint32_t TargetTree::known_mode(EntryPathView parent, int directory, const UnnamedFile& file) {
  if (asked_parent_ != parent.text()) {
    asked_parent_ = parent.text();
    born_plain_ = files_are_born_plain(directory, file.fd());
    silent_close_ = close_is_silent(file.fd());
  }
  return born_plain_ ? file.created_mode() | kBornPlain : ~0u;
}

}  // namespace rdcp::tree
