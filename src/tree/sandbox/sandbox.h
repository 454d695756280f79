// Holds an agent to what its job needs, so that the kernel refuses the rest when all else has failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/result.h"
#include "tree/sandbox/landlock.h"

namespace rdcp::tree {

// A place beneath which may be written, held open.
struct HeldPlace {
  io::Fd fd;
  std::string name;
};

// Holds the device or FIFO at a name, which is written where it is. Returns nothing if the name leads to a
// file or a directory by now, of which more could be written, or to nothing.
io::Fd hold_in_place(const std::string& path);

// Returns what must be written so that a stream can land in a file: the directory that its name is in,
// because the file is replaced, or what is there itself where that is a device or FIFO. Error: there is no
// such directory.
io::Result<HeldPlace> place_of_stream(const std::string& file);

// The rights that an agent keeps. It may always read what its user may, use the descriptors that it has, and
// talk to RDMA devices. It may never execute a program.
struct SandboxTerms {
  struct Place {
    int fd;            // stays the caller's
    std::string name;  // for -v
  };
  // It may write, make, rename and remove all beneath these directories; of what is not a directory it may
  // write the content. Nothing else is written, made or removed.
  std::vector<Place> writes = {};
  // Files beneath these are linked into `writes`. The kernel lets a link have no right that the file lacks
  // where it is, so their content may be written as well; nothing is made, renamed or removed there.
  std::vector<Place> links = {};
  // It may remove beneath these what is no directory.
  std::vector<Place> removes = {};
  // Names beneath `writes` are linked or renamed from one directory to another. Where the kernel would refuse
  // this (Linux 5.13 to 5.18), there is no sandbox.
  bool links_directories = false;
  bool signals_others = false;  // it must end a process that it has started before
  struct Ports {
    std::uint16_t first, last;  // 0 and 0: one that the kernel chooses
  };
  // It makes TCP sockets that listen on one of these ports, makes TCP connections to any port, or does what
  // it likes with TCP. From Linux 6.7 on it can do nothing else by TCP.
  std::optional<Ports> listens = {};
  bool connects = false;
  bool any_tcp = false;
};

// True if this host has devices for RDMA. What was opened of them can be used only by threads with the rights
// of the one that opened it (ib_safe_file_access() in the kernel), and libibverbs and librdmacm share what
// they have open among all threads; so who may use RDMA enters before any of it is opened, and its process
// has no other agent with other rights.
bool has_rdma_devices();

// One agent's sandbox. Each call holds for the thread that makes it and for all that this thread starts from
// then on, and can be followed only by narrower ones (landlock(7)); so the control thread enters before it
// starts any other. Neither call does anything where there is no sandbox. Not thread-safe.
class Sandbox {
 public:
  // wanted: false with --no-landlock.
  explicit Sandbox(bool wanted) : Sandbox(wanted, landlock_support()) {}
  // Takes the kernel's answer from a test.
  Sandbox(bool wanted, LandlockSupport support) : wanted_(wanted), support_(std::move(support)) {}

  // Gives up all but `terms`. Only the first call counts, because an agent has one job. Error: the kernel has
  // Landlock and refuses to confine this thread, so the agent must not go on.
  io::Result<void> enter(const SandboxTerms& terms);
  // Gives up TCP, but for connections to these ports. Sockets that listen already go on. RDMA devices that
  // are open cannot be used any more.
  io::Result<void> keep_connections_to(const std::vector<std::uint16_t>& ports);
  // There is to be no sandbox. why: a sentence's end for description().
  void stay_out(std::string why) { out_because_ = std::move(why); }

  bool entered() const { return entered_; }
  // Returns one sentence for -v, for example "the target may write beneath /data only, ...". who: its
  // subject.
  std::string description(const std::string& who) const;

 private:
  io::Result<void> keep(LandlockRuleset& rules, const SandboxTerms::Place& place, std::uint64_t rights);
  io::Result<void> enforce(LandlockRuleset::Refused refused, const SandboxTerms& terms);
  io::Result<void> enforce_ports(const std::vector<std::uint16_t>& ports);

  const bool wanted_;
  const LandlockSupport support_;
  bool entered_ = false;
  std::string out_because_;  // why there is no sandbox, though the kernel has one
  std::vector<std::string> writes_;
  std::vector<std::string> links_;
  std::vector<std::string> removes_;
  // The places stay open: a rule is for an inode in memory, and some filesystems (9p) make another one of the
  // same file once nobody has it open.
  std::vector<io::Fd> held_;
  bool tcp_kept_ = true;  // any connection is allowed
  std::vector<std::uint16_t> ports_;
};

}  // namespace rdcp::tree
