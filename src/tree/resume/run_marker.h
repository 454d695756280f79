// Marks a recursive copy that has begun and not come to its end. When the same command runs again, it
// compares first and skips what is there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// A file of ours (own_names.h) in the directory beneath which everything is put. Its run keeps it locked, and
// it stays if the run does not come to its end. Its content is the stamp of the mount that the first such run
// wrote to (mount_stamp.h; 16 hexadecimal digits, or nothing if there is no stamp), a newline, and the name
// of what the run was to make in that directory (nothing if DST existed). It is written only when the marker
// is made, because some of what a later run finds is still the first one's. A name that is not of a marker's
// form, as a run has it that wants none, is never looked up or made. Not thread-safe.
class RunMarker {
 public:
  // The result of look().
  enum class Found : std::uint8_t {
    none,      // no marker, or it is not ours
    in_use,    // another run is using it, and has not ended while this one waited
    trusted,   // its run wrote to this mount: size and mtime tell whether a file is whole
    doubtful,  // a reboot or remount came since: files may have lost their content
  };
  // Waits for a run that has been killed and holds it still (own_lock.h), as long as may_wait() is true.
  static Found look(int directory, const std::string& name, const std::function<bool()>& may_wait);
  // Returns the name of what the run was to make beside its marker. It is empty if DST existed, or if this is
  // not a marker.
  static std::string made_beside(int directory, const std::string& name);
  // `makes` is the name in the content. Returns nothing, with errno, if the marker cannot be made, another
  // run has it, or the filesystem has no locks; this run then has no marker.
  static std::optional<RunMarker> make(int directory, const std::string& name, std::string_view makes);
  // True if no earlier run has left it.
  bool is_new() const { return is_new_; }
  // Brings it to the disk with its name, so that nothing of its run can be there without it after a loss of
  // power, whatever the order in which the filesystem writes names.
  io::Result<void> flush(int directory) const;
  // Removes the marker at the end of the run. On an Error, which names it, it stays.
  io::Result<void> remove(int directory);

 private:
  RunMarker(io::Fd file, std::string name, bool is_new)
      : file_(std::move(file)), name_(std::move(name)), is_new_(is_new) {}
  io::Fd file_;
  std::string name_;
  bool is_new_;
};

}  // namespace rdcp::tree
