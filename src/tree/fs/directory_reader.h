// Lists a directory.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <memory>
#include <optional>
#include <string_view>

#include "io/fd.h"

namespace rdcp::tree {

// Lists the names in a directory that was opened for reading, without "." and "..". Whether a name that is
// made or removed meanwhile is listed is open (readdir(3)). Not thread-safe.
class DirectoryReader {
 public:
  // Lists nothing; next() must not be called.
  DirectoryReader() = default;
  // Takes the descriptor over. If there is none, or fdopendir(3) fails, this lists nothing, and errno says
  // why.
  explicit DirectoryReader(io::Fd fd);
  // Opens a directory beneath root as open_beneath() does, which also says what errno means.
  static DirectoryReader open(int root, std::string_view path);

  explicit operator bool() const { return stream_ != nullptr; }
  // Returns the directory's descriptor, which stays this object's.
  int fd() const { return ::dirfd(stream_.get()); }

  // Returns the next name, valid until the next call. Returns null at the end, with errno 0, and where the
  // listing breaks off, with another errno: nobody may conclude from it that a name is not there.
  const dirent* next();
  // Calls use(entry) for each name that is left, until it returns false. Returns false with errno if the
  // listing breaks off.
  template <class Use>
  bool for_each(Use use) {
    while (const dirent* entry = next()) {
      if (!use(*entry)) return true;
    }
    return errno == 0;
  }
  // Says whether an entry just listed is a directory, by fstatat(2) if the filesystem does not tell. One that
  // has been removed is not. Returns nothing, with errno, if nobody can tell. stat_flags: fstatat(2)'s; 0
  // asks what a symbolic link leads to.
  std::optional<bool> is_directory(const dirent& entry, int stat_flags = AT_SYMLINK_NOFOLLOW) const;

  void rewind() { ::rewinddir(stream_.get()); }
  // A place in the listing, for seek() also of a later reader of the same directory.
  long position() const { return ::telldir(stream_.get()); }
  void seek(long position) { ::seekdir(stream_.get(), position); }

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  std::unique_ptr<DIR, Close> stream_;
};

// "." and "..", which every listing has.
constexpr bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace rdcp::tree
