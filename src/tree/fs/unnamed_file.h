// A file that gets its final name when it is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// How a file gets its final name. What works depends on the filesystem, the kernel and our privileges.
enum class Naming : std::uint8_t {
  automatic,        // the first file finds the way for those that follow
  link_descriptor,  // O_TMPFILE, linkat(2) AT_EMPTY_PATH: Linux 6.10, before that CAP_DAC_READ_SEARCH
  link_proc,        // O_TMPFILE, linkat(2) of /proc/self/fd/N
  rename,           // a temporary name, for filesystems without O_TMPFILE (NFS, vfat, some FUSE)
};

// A file that is being written and has no name yet, or a temporary one. It is made with O_TMPFILE if the
// filesystem supports it, so that nothing is left behind even after a crash, else as ".NAME.rdcp-XXXXXXXX" in
// the same directory. publish() gives it its final name atomically: by linkat(2) if the name is free, else by
// linking it to a temporary name and rename(2) over the file that has it. Without publish() nothing is left.
// Move-only; not thread-safe.
class UnnamedFile {
 public:
  // Creates a file that is open for reading and writing. `mode` has its permission bits, regardless of the
  // umask (the process runs with umask 0); see created_mode(). If `naming` is what naming() said of an
  // earlier file here, the search is skipped. A way that does not work on this filesystem is replaced by
  // `rename`.
  static io::Result<UnnamedFile> create(int directory, std::string_view name, std::uint32_t mode,
                                        std::string_view subject, Naming naming = Naming::automatic);
  // Takes a file that has a name already, in `directory`, and keeps it even without publish().
  static UnnamedFile under_name(io::Fd file, io::Fd directory, std::string name, std::uint32_t mode);
  UnnamedFile(UnnamedFile&& other) noexcept;
  UnnamedFile& operator=(UnnamedFile&& other) noexcept;
  ~UnnamedFile() { discard(); }

  int fd() const { return fd_.get(); }
  Naming naming() const { return naming_; }
  // The permission bits that it was created with. setuid, setgid and sticky are left out, because they must
  // wait for the owner. A file with a temporary name gets only the owner's bits, because others could open it
  // before its owner and ACL are right. (A default ACL of the directory may have taken more away.)
  std::uint32_t created_mode() const { return created_mode_; }

  // Returns the error that close(2) would report; the descriptor stays open (heard_close.h). Nothing may be
  // written after it.
  io::Result<void> hear_close(std::string_view subject);
  // Tells this that close(2) is known to be silent here (close_is_silent()), so that it is not asked again.
  void expect_silent_close() { close_heard_ = true; }
  // Gives the file this name in place of what has it, even of a symlink. The error is EISDIR if a directory
  // has it. The descriptor stays open, and errors of close(2) are found first. `directory` is that of
  // create(), or another one on the same filesystem. After an error nothing has changed; after EISDIR it can
  // be called again.
  io::Result<void> publish(int directory, std::string_view name, std::string_view subject);
  // Closes the file and returns the error of close(2) (NFS reports ENOSPC and EDQUOT there).
  io::Result<void> close(std::string_view subject);

 private:
  UnnamedFile() = default;
  bool open_without_name(int directory, Naming naming);
  bool open_under_temporary_name(int directory, std::string_view name);
  int replace(int directory, const std::string& name);
  void discard();

  io::Fd fd_;
  Naming naming_ = Naming::automatic;
  std::uint32_t created_mode_ = 0;
  io::Fd directory_;            // of temporary_name_; our own descriptor, so that removal works at any time
  std::string temporary_name_;  // empty if it has none, or its final name
  bool keeps_name_ = false;     // the name stays without publish()
  bool close_heard_ = false;
};

// Returns the permissions that a new file in place of the one at `path`, which has `mode`, needs to let in
// nobody whom the old one keeps out. With an ACL, the bits of the group are the mask (acl(5)), and may say
// more than what the owning group has.
std::uint32_t permissions_without_acl(const std::string& path, std::uint32_t mode);

}  // namespace rdcp::tree
