#include "tree/fs/directory_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "tree/fs/beneath.h"

namespace rdcp::tree {

DirectoryReader::DirectoryReader(io::Fd fd) {
  if (!fd) return;
  stream_.reset(::fdopendir(fd.get()));
  if (stream_ != nullptr) (void)fd.release();
}

DirectoryReader DirectoryReader::open(int root, std::string_view path) {
  return DirectoryReader(open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
}

const dirent* DirectoryReader::next() {
  const dirent* entry = nullptr;
  do {
    errno = 0;
    entry = ::readdir(stream_.get());
  } while (entry != nullptr && is_dot(entry->d_name));
  return entry;
}

std::optional<bool> DirectoryReader::is_directory(const dirent& entry, int stat_flags) const {
  const bool follows = (stat_flags & AT_SYMLINK_NOFOLLOW) == 0;
  const bool told = entry.d_type != DT_UNKNOWN && !(follows && entry.d_type == DT_LNK);
  if (told) return entry.d_type == DT_DIR;
  struct stat status {};
  const bool known = ::fstatat(fd(), entry.d_name, &status, stat_flags) == 0;
  if (!known && errno != ENOENT) return std::nullopt;
  return known && S_ISDIR(status.st_mode);
}

}  // namespace rdcp::tree
