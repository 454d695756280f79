// A directory that a hostile source writes to, and what must not change beside it.
#pragma once

#include <string>

#include "io/fd.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/sessions/tree_state.h"

namespace rdcp::fuzz {

// DST, with everything in it that could lead a target astray: symlinks, hard links, FIFOs, a part and a
// marker of an earlier run. All runs of a process share it: the canary beside DST stays, DST is made anew
// each time.
class DestinationPlace {
 public:
  DestinationPlace();

  const std::string& parent() const { return scratch_.path(); }
  std::string canary() const { return scratch_ / "canary"; }
  std::string destination() const { return scratch_ / "dst"; }
  io::Fd open_destination() const;

  // with_part: of kPartName, as a run that was cut short has left it. marker: the name of an earlier run's
  // marker in DST, or "". outside: where the absolute symlink leads.
  void make_destination(bool with_part, const std::string& marker, const std::string& outside);
  // Everything beside DST, rdcp's own names excepted.
  void check_surroundings() const;
  // What is left of rdcp's own after `rdcp --clean` of the directory beneath which everything was put.
  void check_cleaned(bool beneath_parent) const;

 private:
  void remove_destination() const;

  Scratch scratch_;
  io::Fd canary_;
  TreeState before_;
};

}  // namespace rdcp::fuzz
