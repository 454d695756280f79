#include "io/locked_memory.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdcp::io {
namespace {

constexpr rlim_t kLimit = 1 << 20;

// Says in its exit status what a process may lock that has this limit and is root of a user namespace of its
// own.
enum Outcome : int { as_limited, more, no_namespace };

[[noreturn]] void lock_in_own_namespace() {
  const rlimit limit{.rlim_cur = kLimit / 2, .rlim_max = kLimit};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || ::unshare(CLONE_NEWUSER) != 0) ::_exit(no_namespace);
  ::_exit(lockable_bytes() == kLimit ? as_limited : more);
}

TEST(LockedMemory, RootOfAnotherUserNamespaceIsBoundByTheLimit) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) lock_in_own_namespace();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_namespace) GTEST_SKIP() << "no user namespace can be made here";
  EXPECT_EQ(WEXITSTATUS(status), as_limited);
}

// Of a process that has every capability in the first namespace: Soft-iWARP looks at the limit alone.
[[noreturn]] void lock_as_root() {
  const rlimit limit{.rlim_cur = kLimit / 2, .rlim_max = kLimit};
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || lockable_bytes() != kNoLockLimit) ::_exit(more);
  rlimit found{};
  if (::getrlimit(RLIMIT_MEMLOCK, &found) != 0) ::_exit(more);
  ::_exit(found.rlim_cur == RLIM_INFINITY ? as_limited : more);
}

TEST(LockedMemory, RootLiftsTheLimit) {
  if (::geteuid() != 0 || lockable_bytes() != kNoLockLimit) GTEST_SKIP() << "not root with CAP_IPC_LOCK";
  const rlimit none{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) GTEST_SKIP() << "no CAP_SYS_RESOURCE here";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) lock_as_root();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == as_limited);
}

}  // namespace
}  // namespace rdcp::io
