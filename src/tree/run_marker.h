// The sign of a recursive copy that has begun and not come to its end: when the same command comes again, it
// compares first, and skips what is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// A file of ours (own_names.h) in the directory beneath which all is put, locked while its run lives. It
// stays when the run does not come to its end. Content: the stamp of the mount that the first such run wrote
// to (mount_stamp.h; 16 hexadecimal digits, none where there is no stamp), a newline, and the name of what
// the run was to make in that directory (nothing where DST was there already). It is written once, when the
// marker is made: of what a later run finds, some is still the first one's. Not thread-safe.
class RunMarker {
 public:
  // What a run has left.
  enum class Found : std::uint8_t {
    none,      // nothing, or what has the name is not ours, or another run is at it
    trusted,   // it wrote to this very mount: size and mtime say whether a file is whole
    doubtful,  // the host was booted since, or the filesystem mounted: files may have lost their content
  };
  static Found look(int directory, const std::string& name);
  // The name of what the run was to make beside its marker. Empty: DST was there, or this is not a marker.
  static std::string made_beside(int directory, const std::string& name);
  // makes: see above. None, with errno, where it cannot be made, another run has it, or the filesystem has no
  // locks; then there is no sign.
  static std::optional<RunMarker> make(int directory, const std::string& name, std::string_view makes);
  // No earlier run has left it.
  bool is_new() const { return is_new_; }
  // The run is over. The directory's times stay as they are. Error: it stays, by its name.
  io::Result<void> remove(int directory);

 private:
  RunMarker(io::Fd file, std::string name, bool is_new)
      : file_(std::move(file)), name_(std::move(name)), is_new_(is_new) {}
  io::Fd file_;
  std::string name_;
  bool is_new_;
};

}  // namespace rdcp::tree
