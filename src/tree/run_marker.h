// The sign of a recursive copy that has begun and not come to its end: when the same command comes again, it
// compares first, and skips what is there.
#pragma once

#include <optional>
#include <string>

#include "io/fd.h"

namespace rdcp::tree {

// An empty file of ours (own_names.h) in the directory beneath which all is put, locked while its run lives.
// It stays when the run does not come to its end. Not thread-safe.
class RunMarker {
 public:
  // False where what has its name is not ours.
  static bool is_there(int directory, const std::string& name);
  // None where it cannot be made, or another run has it; then there is no sign.
  static std::optional<RunMarker> make(int directory, const std::string& name);
  // The run is over. The directory's times stay as they are.
  void remove(int directory);

 private:
  RunMarker(io::Fd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  io::Fd file_;
  std::string name_;
};

}  // namespace rdcp::tree
