// The kernel's Landlock interface (landlock(7), Linux 5.13): a thread gives up rights for good, for itself
// and for every thread and process that it starts from then on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/fd.h"
#include "io/result.h"

namespace rdcp::tree {

// The version of the interface that this kernel has. Each later version can refuse more.
struct LandlockSupport {
  int abi = 0;               // 0: there is none
  std::string none_because;  // why there is none, and which kernels have it
};

// Asks the kernel.
LandlockSupport landlock_support();

// The rights that one version of the interface can refuse, in groups. All are bits of linux/landlock.h, whose
// older editions lack some of them.
struct LandlockRights {
  std::uint64_t changes = 0;  // making, writing, renaming and removing beneath a directory; ioctl on devices
  std::uint64_t removal = 0;  // the part of `changes` that is unlink(2) of what is no directory
  std::uint64_t execute = 0;  // execve(2)
  std::uint64_t of_content = 0;  // the part of `changes` that makes sense for what is not a directory
  // The part of `changes` that every ruleset refuses, even one that does not name it.
  std::uint64_t refer = 0;
  std::uint64_t tcp = 0;      // bind(2) and connect(2) of TCP sockets; from version 4 (Linux 6.7) on
  std::uint64_t bind = 0;     // the part of `tcp` that is bind(2)
  std::uint64_t connect = 0;  // the part that is connect(2)
  std::uint64_t outward = 0;  // abstract Unix sockets of others, signals to others; from version 6 (6.12) on
  std::uint64_t signals = 0;  // the part of `outward` that is signals

  static LandlockRights of(int abi);
};

// Rights that are given up, with the places and ports for which they are kept. A right is given up only once
// enforce() has been called.
class LandlockRuleset {
 public:
  struct Refused {
    std::uint64_t filesystem = 0;
    std::uint64_t tcp = 0;
    std::uint64_t outward = 0;
  };
  // Error: the kernel does not know one of the rights, or lacks memory.
  static io::Result<LandlockRuleset> create(const Refused& refused);

  // Keeps rights for what fd is open on and, if that is a directory, for all beneath it, mounts included. fd
  // may have been opened with O_PATH; `name` is for the error.
  io::Result<void> keep_beneath(int fd, std::uint64_t rights, std::string_view name);
  io::Result<void> keep_port(std::uint16_t port, std::uint64_t rights);
  // Gives the other rights up, and the one to gain any by execve(2) (PR_SET_NO_NEW_PRIVS). Error E2BIG: this
  // thread stands within 16 rulesets already.
  io::Result<void> enforce() const;

 private:
  explicit LandlockRuleset(io::Fd fd) : fd_(std::move(fd)) {}

  io::Fd fd_;
};

}  // namespace rdcp::tree
