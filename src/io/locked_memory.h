// Finds out how much memory this process may lock (RLIMIT_MEMLOCK, setrlimit(2)). Memory that an RDMA device
// or io_uring uses is locked, so that it stays where it is.
#pragma once

#include <cstdint>
#include <limits>

namespace rdcp::io {

inline constexpr std::uint64_t kNoLockLimit = std::numeric_limits<std::uint64_t>::max();

// Returns the limit in bytes, or kNoLockLimit if there is none or CAP_IPC_LOCK lifts it (as the kernel's
// ib_umem_get() and io_uring_register(2) see it), which it does in the first user namespace alone. Raises the
// soft limit to the hard one first, which needs no privilege; with CAP_IPC_LOCK, lifts both if it may.
std::uint64_t lockable_bytes();

// Advice for users who may lock too little.
inline constexpr const char* kHowToLockMore =
    "raise it with '* - memlock unlimited' in /etc/security/limits.d/rdma.conf and a new login, or "
    "LimitMEMLOCK=infinity in the unit of a service; for a container, --ulimit memlock=-1";

}  // namespace rdcp::io
