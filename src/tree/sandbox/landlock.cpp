#include "tree/sandbox/landlock.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rdcp::tree {

namespace {

// linux/landlock.h, which Debian 12 has as of Linux 6.1. The numbers never change.
constexpr std::uint64_t kExecute = 1 << 0;
constexpr std::uint64_t kWriteFile = 1 << 1;
constexpr std::uint64_t kRemoveAndMake = 0x1ff << 4;  // REMOVE_DIR to MAKE_SYM
constexpr std::uint64_t kRemoveFile = 1 << 5;
constexpr std::uint64_t kRefer = 1 << 13;        // version 2, Linux 5.19
constexpr std::uint64_t kTruncate = 1 << 14;     // version 3, Linux 6.2
constexpr std::uint64_t kDeviceIoctl = 1 << 15;  // version 5, Linux 6.10
constexpr std::uint64_t kTcpBind = 1 << 0;       // version 4, Linux 6.7
constexpr std::uint64_t kTcpConnect = 1 << 1;
constexpr std::uint64_t kAbstractSockets = 1 << 0;  // version 6, Linux 6.12
constexpr std::uint64_t kSignals = 1 << 1;

struct RulesetAttributes {
  std::uint64_t filesystem;
  std::uint64_t tcp;
  std::uint64_t outward;
};

struct PathRule {
  std::uint64_t rights;
  std::int32_t parent;
} __attribute__((packed));

struct PortRule {
  std::uint64_t rights;
  std::uint64_t port;
};

constexpr unsigned kAskVersion = 1;
constexpr int kPathRule = 1;
constexpr int kPortRule = 2;

io::Error landlock_error(std::string_view what) {
  return io::errno_error("confine", what);
}

std::string why_none(int code) {
  switch (code) {
    case ENOSYS:
      return "this kernel has no Landlock (Linux 5.13 or later, with CONFIG_SECURITY_LANDLOCK)";
    case EOPNOTSUPP:
      return "Landlock is switched off here (add it to the kernel's parameter lsm=)";
    default:  // a container's seccomp profile answers as it likes
      return std::string("Landlock is refused here: ") + std::strerror(code);
  }
}

}  // namespace

LandlockSupport landlock_support() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (abi > 0) return {.abi = static_cast<int>(abi), .none_because = {}};
  return {.abi = 0, .none_because = why_none(errno)};
}

LandlockRights LandlockRights::of(int abi) {
  LandlockRights rights;
  if (abi < 1) return rights;
  rights.execute = kExecute;
  rights.changes = kWriteFile | kRemoveAndMake;
  rights.of_content = kWriteFile;
  rights.removal = kRemoveFile;
  if (abi >= 2) {
    rights.refer = kRefer;
    rights.changes |= kRefer;
  }
  if (abi >= 3) {
    rights.changes |= kTruncate;
    rights.of_content |= kTruncate;
  }
  if (abi >= 4) {
    rights.bind = kTcpBind;
    rights.connect = kTcpConnect;
    rights.tcp = kTcpBind | kTcpConnect;
  }
  if (abi >= 5) {
    rights.changes |= kDeviceIoctl;
    rights.of_content |= kDeviceIoctl;
  }
  if (abi >= 6) {
    rights.signals = kSignals;
    rights.outward = kAbstractSockets | kSignals;
  }
  return rights;
}

// A kernel takes no attribute that it does not know, unless that is zero (copy_struct_from_user()).
io::Result<LandlockRuleset> LandlockRuleset::create(const Refused& refused) {
  const RulesetAttributes attributes{refused.filesystem, refused.tcp, refused.outward};
  io::Fd fd(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!fd) return landlock_error("this agent");
  return LandlockRuleset(std::move(fd));
}

io::Result<void> LandlockRuleset::keep_beneath(int fd, std::uint64_t rights, std::string_view name) {
  const PathRule rule{rights, fd};
  if (::syscall(SYS_landlock_add_rule, fd_.get(), kPathRule, &rule, 0) == 0) return {};
  return landlock_error("this agent to " + std::string(name));
}

io::Result<void> LandlockRuleset::keep_port(std::uint16_t port, std::uint64_t rights) {
  const PortRule rule{rights, port};
  if (::syscall(SYS_landlock_add_rule, fd_.get(), kPortRule, &rule, 0) == 0) return {};
  return landlock_error("this agent to port " + std::to_string(port));
}

io::Result<void> LandlockRuleset::enforce() const {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return landlock_error("this agent");
  if (::syscall(SYS_landlock_restrict_self, fd_.get(), 0) != 0) return landlock_error("this agent");
  return {};
}

}  // namespace rdcp::tree
