// Opens up directories for their owner, and closes them again when the run ends.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "io/result.h"

namespace rdcp::tree {

// Notes which directories beneath the target's root this run has opened up, and with which permissions they
// were found. A directory's own entry from the source takes it off the notes. All workers of a target share
// one; thread-safe.
class OpenedDirectories {
 public:
  using Report = std::function<void(const io::Error&)>;
  // report hears of each directory that cannot be closed again; it is called with a lock held.
  explicit OpenedDirectories(Report report, std::size_t bytes_most = kBytesMost)
      : report_(std::move(report)), bytes_most_(bytes_most) {}
  // The caller owns root and keeps it open longer than this. root_name is for messages.
  void begin(int root, std::string root_name);

  // now: it is open since this call. before: this run had opened it, so another try may help. no: it is not
  // ours, or its owner had all rights.
  enum class Access { no, before, now };
  // Gives the owner all rights on a directory (u+rwx) if we are the owner. `path` is that of the directory
  // beneath the root. Leaves errno as it is.
  Access open_up(int directory, std::string_view path);
  // The directory gets its permissions from the source now. To be called before it does: another worker may
  // be closing directories.
  void forget(std::string_view path);
  // Gives all directories back the permissions that they had, unless these were changed meanwhile. To be
  // called when nothing more is put, however the run has ended.
  void close_all();

  // The notes take no more memory: before, all directories are closed that the new one does not lie in.
  // Whoever still needs one of them opens it up again. A source finishes directories as it goes along, so an
  // honest one has few under way.
  static constexpr std::size_t kBytesMost = 1 << 20;

 private:
  struct Found {
    dev_t device;
    ino_t inode;
    mode_t permissions;
  };
  void note(std::string_view path, const Found& found);
  void close(const std::string& path, const Found& found);
  void close_but_for(std::string_view path);

  const Report report_;
  const std::size_t bytes_most_;
  int root_ = -1;
  std::string root_name_;
  std::mutex mutex_;  // guards the members below
  // By path, so each directory comes behind those that it lies in.
  std::map<std::string, Found, std::less<>> found_;
  std::size_t bytes_ = 0;
};

// Gives the owner all rights on a directory (u+rwx) if we are the owner. Returns false if nothing was
// changed: the owner has them already, or it is not ours. Leaves errno as it is. Only for who closes the
// directory again by himself; all others use OpenedDirectories.
bool grant_owner_access(int directory);

}  // namespace rdcp::tree
