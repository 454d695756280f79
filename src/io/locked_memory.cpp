#include "io/locked_memory.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace rdcp::io {
namespace {

// The user namespace that all others are in has this inode (PROC_USER_INIT_INO, include/linux/proc_ns.h).
constexpr ino_t kFirstUserNamespace = 0xEFFFFFFD;

// The kernel asks for CAP_IPC_LOCK there: one that a process has in a namespace of its own, as root of a
// rootless container, lifts no limit (user_namespaces(7); can_do_mlock() in mm/mlock.c).
bool is_in_first_user_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/user", &status) == 0 && status.st_ino == kFirstUserNamespace;
}

// capget(2) has no wrapper in the C library.
bool may_lock_anything() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  const bool capable = (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
  return capable && is_in_first_user_namespace();
}

}  // namespace

std::uint64_t lockable_bytes() {
  rlimit limit{};
  if (may_lock_anything()) {
    // Soft-iWARP asks for the limit alone (siw_umem_get(), Linux 6.1), which only CAP_SYS_RESOURCE may lift.
    const rlimit none{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    [[maybe_unused]] const bool lifted = ::setrlimit(RLIMIT_MEMLOCK, &none) == 0;
    return kNoLockLimit;
  }
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return kNoLockLimit;
  if (limit.rlim_cur != limit.rlim_max) {
    const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (::setrlimit(RLIMIT_MEMLOCK, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur == RLIM_INFINITY ? kNoLockLimit : limit.rlim_cur;
}

}  // namespace rdcp::io
