// A file that gets its name when it is whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// How a file comes to its name. What works depends on the filesystem, the kernel and our privileges.
enum class Naming : std::uint8_t {
  automatic,        // find out; the first file tells for those that follow
  link_descriptor,  // O_TMPFILE, linkat(2) AT_EMPTY_PATH: Linux 6.10, before that CAP_DAC_READ_SEARCH
  link_proc,        // O_TMPFILE, linkat(2) of /proc/self/fd/N
  rename,           // a temporary name, for filesystems without O_TMPFILE (NFS, vfat, some FUSE)
};

// A file that is being written and has no name yet, or a temporary one: O_TMPFILE where the filesystem has it
// (nothing is left behind whatever dies), else ".NAME.rdcp-XXXXXXXX" in the same directory. publish() gives
// it its final name, atomically: linkat(2) where the name is free, else link to a temporary name and
// rename(2) over the old one. Without publish() nothing is left. Move-only; not thread-safe.
class UnnamedFile {
 public:
  // Open for reading and writing. `mode`: its permission bits, regardless of the umask (the process runs with
  // umask 0); see created_mode(). `naming`: what naming() said of an earlier file here spares the search; a
  // way that turns out not to work on this filesystem is left for `rename`.
  static io::Result<UnnamedFile> create(int directory, std::string_view name, std::uint32_t mode,
                                        std::string_view subject, Naming naming = Naming::automatic);
  // One that has a name of its own already, in `directory`, and keeps it without publish().
  static UnnamedFile under_name(io::Fd file, io::Fd directory, std::string name, std::uint32_t mode);
  UnnamedFile(UnnamedFile&& other) noexcept;
  UnnamedFile& operator=(UnnamedFile&& other) noexcept;
  ~UnnamedFile() { discard(); }

  int fd() const { return fd_.get(); }
  Naming naming() const { return naming_; }
  // The permission bits that it was given: those asked for without setuid, setgid and sticky, which must wait
  // for the owner; under a temporary name the owner's only, since others could open it before owner and ACL
  // are right. (A default ACL of the directory may have taken more away.)
  std::uint32_t created_mode() const { return created_mode_; }

  // Hears what close(2) would tell, with the descriptor left open (heard_close.h). Nothing is to be written
  // after it.
  io::Result<void> hear_close(std::string_view subject);
  // The caller knows that close(2) is silent here.
  void expect_silent_close() { close_heard_ = true; }
  // Puts it in place of what has that name, a symlink too; EISDIR when a directory stands there. The
  // descriptor stays open; what close(2) would tell is heard before. `directory` is the one of create(), or
  // another on the same filesystem. After an error it is as before; after EISDIR it can be called again.
  io::Result<void> publish(int directory, std::string_view name, std::string_view subject);
  // close(2), its error reported (NFS tells ENOSPC and EDQUOT there).
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
  io::Fd directory_;            // of temporary_name_; ours, so that its removal depends on nobody
  std::string temporary_name_;  // empty: it has none, or its final one
  bool keeps_name_ = false;     // whatever becomes of it
  bool close_heard_ = false;
};

}  // namespace rdcp::tree
