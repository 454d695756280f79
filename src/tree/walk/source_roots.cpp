#include "tree/walk/source_roots.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "tree/fs/local_path.h"
#include "tree/select/destination_mapping.h"

namespace rdcp::tree {
namespace {

// True if this is the stream by which the coordinator talks to this agent, whatever name led to it.
bool is_the_coordinators(const StandardStreams& standard, int fd) {
  struct stat opened {};
  if (!standard.are_the_coordinators || ::fstat(fd, &opened) != 0) return false;
  return std::ranges::any_of(std::array{standard.input, standard.output}, [&](int stream) {
    struct stat status {};
    return ::fstat(stream, &status) == 0 && status.st_dev == opened.st_dev && status.st_ino == opened.st_ino;
  });
}

}  // namespace

SourceRoots::SourceRoots(const SourceJob& job, const SourceWishes& wishes, const StandardStreams& standard,
                         Reporter& reporter)
    : job_(job),
      follow_links_(wishes.follow_links),
      removes_(wishes.remove_files),
      standard_(standard),
      reporter_(reporter) {
  roots_.reserve(job_.paths.size());  // directories and items point to them
}

std::vector<PathFacts> SourceRoots::open() {
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

PathFacts SourceRoots::refuse(const io::Error& why) {
  reporter_.problem(why);
  return {.kind = PathKind::unusable, .device = 0, .inode = 0};
}

// Every SRC that was opened gets here; one of which nothing can be learnt is no source.
PathFacts SourceRoots::add(Root root, PathKind kind) {
  if (kind == PathKind::byte_stream && job_.selection.has_bounds()) {
    return refuse(io::plain_error(io::ErrorKind::file, "copy", root.given,
                                  "its size is not known before it has been read, so neither "
                                  "--max-size nor --min-size can be applied"));
  }
  struct stat status {};
  if (::fstat(root.opened ? root.opened.get() : root.fd.get(), &status) != 0) {
    return refuse(io::errno_error("stat", root.given));
  }
  roots_.push_back(std::move(root));
  return {.kind = kind, .device = status.st_dev, .inode = status.st_ino};
}

// A file that can be opened anew is read through a descriptor of its own: O_DIRECT, set on the one that was
// given, would be seen by all who share it. One whose size says nothing (/proc) is read to its end, as a
// pipe.
PathFacts SourceRoots::open_standard_input() {
  Root root;
  root.given = standard_.input_name;
  root.single = true;
  root.opened.reset(::fcntl(standard_.input, F_DUPFD_CLOEXEC, 3));
  if (!root.opened) {
    return refuse(io::errno_error("read", root.given));
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
  return add(std::move(root), kind);
}

PathFacts SourceRoots::open_one(const std::string& path) {
  if (job_.standard_input) return open_standard_input();
  struct stat status {};
  // With -r a symlink is copied as one, as cp -a and rsync do; with a slash behind it, or without -r, it is
  // followed.
  int follow = job_.recursive && !follow_links_ && !means_contents(path) ? AT_SYMLINK_NOFOLLOW : 0;
  // A mirror's SRC means what is in the directory, whatever leads to it.
  if (job_.settings.sync.mirror && ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) follow = 0;
  if (::fstatat(AT_FDCWD, path.c_str(), &status, follow) != 0) {
    reporter_.problem(io::errno_error("open", path));
    return {};
  }
  if (S_ISDIR(status.st_mode)) return open_directory(path);
  struct stat named {};
  if (removes_ && follow == 0 && ::lstat(path.c_str(), &named) == 0 && S_ISLNK(named.st_mode)) {
    return refuse(
        io::plain_error(io::ErrorKind::file, "copy", path,
                        "is a symbolic link, and --remove-source-files would remove the file that it "
                        "leads to; name that file, or copy the link itself with -r"));
  }
  if (!job_.recursive && !S_ISREG(status.st_mode)) return open_special(path, status.st_mode);

  return open_single(path, status);
}

PathFacts SourceRoots::open_single(const std::string& path, const struct stat& status) {
  const LocalPath real = job_.recursive ? split_local_path(path) : split_real_path(path);
  Root root;
  root.given = path;
  root.name = real.name;
  root.single = true;
  root.follows = follow_links_;
  root.fd.reset(::open(real.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.fd) return refuse(io::errno_error("open", real.directory));
  roots_.push_back(std::move(root));
  const PathKind kind = S_ISREG(status.st_mode)   ? PathKind::file
                        : S_ISLNK(status.st_mode) ? PathKind::symlink
                                                  : PathKind::special;
  return {.kind = kind, .device = status.st_dev, .inode = status.st_ino};
}

PathFacts SourceRoots::open_directory(const std::string& path) {
  if (!job_.recursive && !job_.selection.named_only) {
    return refuse(io::plain_error(io::ErrorKind::file, "copy", path, "is a directory (use -r to copy it)"));
  }
  Root root;
  root.given = path;
  root.follows = follow_links_;
  while (root.given.size() > 1 && root.given.ends_with('/')) root.given.pop_back();
  root.fd.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.fd) {
    return refuse(io::errno_error("open directory", path));
  }
  return add(std::move(root), PathKind::directory);
}

// Without -r a FIFO or a process substitution is read, as cp does; a device, which may be a disk or have no
// end, if that is what the user has asked for. A FIFO is opened without waiting for its writer: who hears the
// coordinator must not be held up.
PathFacts SourceRoots::open_special(const std::string& path, mode_t mode) {
  if ((S_ISCHR(mode) || S_ISBLK(mode)) && !job_.copy_devices) {
    return refuse(io::plain_error(io::ErrorKind::file, "copy", path,
                                  "is a device (use --copy-devices to copy what can be read from it)"));
  }
  Root root;
  root.given = path;
  root.single = true;
  root.waits_for_writer = S_ISFIFO(mode);
  const int waiting = root.waits_for_writer ? O_NONBLOCK : 0;
  root.opened.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waiting));
  if (!root.opened) {
    return refuse(io::errno_error("open", path));
  }
  if (is_the_coordinators(standard_, root.opened.get())) {
    return refuse(io::plain_error(io::ErrorKind::file, "copy", path,
                                  "leads to a stream of rdcp itself, through which it is told what to copy"));
  }
  return add(std::move(root), S_ISBLK(mode) ? PathKind::file : PathKind::byte_stream);
}

FileTransferRef SourceRoots::file_of(const Root& root) const {
  Item item;
  item.directory = std::make_shared<DirectoryTracker>(root);
  item.directory->add_child();  // this file; no listing would ever end
  OpenedFile opened;
  opened.fd.reset(::fcntl(root.opened.get(), F_DUPFD_CLOEXEC, 3));
  if (!opened.fd) {
    reporter_.problem(io::errno_error("open", root.given));
    return nullptr;
  }
  struct stat status {};
  bool known = ::fstat(opened.fd.get(), &status) == 0;
  if (known && S_ISBLK(status.st_mode)) {
    status.st_size = ::lseek(opened.fd.get(), 0, SEEK_END);
    known = status.st_size >= 0;
  }
  if (!known) {
    reporter_.problem(io::errno_error("stat", root.given));
    return nullptr;
  }
  const bool by_extents = root.begin || S_ISBLK(status.st_mode);
  if (by_extents) {
    const auto end = static_cast<std::uint64_t>(status.st_size);
    opened.begin = root.begin.value_or(0);
    opened.size = end - std::min(end, opened.begin);
    if (!job_.selection.sends_size(opened.size)) return nullptr;
  }
  return std::make_shared<FileTransfer>(std::move(item), std::move(opened), !by_extents);
}

void SourceRoots::set_landings(const std::vector<std::string>& landings) {
  for (std::size_t i = 0; i < root_of_path_.size() && i < landings.size(); ++i) {
    if (root_of_path_[i] >= 0) roots_[static_cast<std::size_t>(root_of_path_[i])].landing = landings[i];
  }
}

const Root* SourceRoots::only_directory() const {
  return roots_.size() == 1 && !roots_.front().single ? &roots_.front() : nullptr;
}

}  // namespace rdcp::tree
