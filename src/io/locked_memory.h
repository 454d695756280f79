// How much memory this process may lock: what an RDMA device or io_uring is given must stay where it is
// (RLIMIT_MEMLOCK, setrlimit(2)).
#pragma once

#include <cstdint>
#include <limits>

namespace rdcp::io {

inline constexpr std::uint64_t kNoLockLimit = std::numeric_limits<std::uint64_t>::max();

// Bytes; kNoLockLimit where there is no limit, or CAP_IPC_LOCK lifts it (as the kernel's ib_umem_get() and
// io_uring_register(2) see it). Raises the soft limit to the hard one first, since that takes no privilege.
std::uint64_t lockable_bytes();

// For whoever may lock too little.
inline constexpr const char* kHowToLockMore =
    "raise it with '* - memlock unlimited' in /etc/security/limits.d/rdma.conf and a new login, or "
    "LimitMEMLOCK=infinity in the unit of a service";

}  // namespace rdcp::io
