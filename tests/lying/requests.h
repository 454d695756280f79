// FUSE's requests, each answered by a call of LyingDisk.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

namespace rdcp::lying {

// The session's user data is the LyingDisk. Without `with_locks` the kernel keeps flock(2) to itself, and it
// works.
const fuse_lowlevel_ops& requests(bool refuses_locks);

}  // namespace rdcp::lying
