#include "tree/resume/run_marker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "tree/fs/beneath.h"
#include "tree/fs/own_names.h"
#include "tree/fs/removal_permit.h"
#include "tree/resume/mount_stamp.h"
#include "tree/resume/own_lock.h"
#include "tree/resume/part_file.h"

namespace rdcp::tree {
namespace {

constexpr std::size_t kStampDigits = 16;

std::string stamp_text(int fd) {
  const auto stamp = mount_stamp(fd);
  return stamp ? fmt::format("{:016x}", *stamp) : std::string();
}

std::string content_of(int fd) {
  std::array<char, kStampDigits + 1 + NAME_MAX> bytes;
  const ssize_t length = ::pread(fd, bytes.data(), bytes.size(), 0);
  return length > 0 ? std::string(bytes.data(), static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

RunMarker::Found RunMarker::look(int directory, const std::string& name,
                                 const std::function<bool()>& may_wait) {
  if (own_name(name) != OwnName::run) return Found::none;
  io::Fd file;
  const auto open = [&] { return bool(file = open_own(directory, name)); };
  if (!LockPatience().wait_for(open, may_wait)) return errno == EWOULDBLOCK ? Found::in_use : Found::none;
  const std::string content = content_of(file.get());
  const std::string stamp = stamp_text(file.get());
  // If a marker has lost its own content, its run's files may have lost theirs, too.
  const bool same = !stamp.empty() && content.starts_with(stamp + "\n");
  return same ? Found::trusted : Found::doubtful;
}

std::string RunMarker::made_beside(int directory, const std::string& name) {
  const io::Fd file = open_beneath(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  const std::string content = file ? content_of(file.get()) : std::string();
  const std::size_t line_end = content.find('\n');
  return line_end == std::string::npos ? std::string() : content.substr(line_end + 1);
}

std::optional<RunMarker> RunMarker::make(int directory, const std::string& name, std::string_view makes) {
  if (own_name(name) != OwnName::run) {
    errno = EINVAL;
    return std::nullopt;
  }
  io::Fd file = open_beneath(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    const int cause = errno;
    file.reset();
    if (lacks_locks(cause)) (void)remove_own(directory, name);
    errno = cause;
    if (lacks_locks(cause)) return std::nullopt;
  }
  const bool is_new = bool(file);
  if (is_new) {
    const std::string content = stamp_text(file.get()) + "\n" + std::string(makes);
    // If this fails, a later run finds no stamp and compares everything by content.
    (void)!::pwrite(file.get(), content.data(), content.size(), 0);
  }
  if (!file) file = open_own(directory, name);
  if (!file) return std::nullopt;
  return RunMarker(std::move(file), name, is_new);
}

io::Result<void> RunMarker::flush(int directory) const {
  if (::fsync(file_.get()) != 0 || ::fsync(directory) != 0) return io::errno_error("flush", name_);
  return {};
}

io::Result<void> RunMarker::remove(int directory) {
  if (remove_own(directory, name_) != 0 && errno != ENOENT) return io::errno_error("remove", name_);
  return {};
}

}  // namespace rdcp::tree
