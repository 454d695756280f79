/* Preloaded into rdcp: lets a system call on one path fail, as a disk, a network filesystem or a quota would.
 * RDCP_FAIL_CALL: its name (of those in wrapped_calls.h). RDCP_FAIL_PATH: how the path ends that it is made on, or that
 * its descriptor was opened by.
 * RDCP_FAIL_ERRNO: the number of the error, or 0: nothing is read or written. RDCP_FAIL_AFTER: so many calls that fit succeed first (none).
 * RDCP_FAKE_FILESYSTEM: the type (statfs(2), a number) that all filesystems say they have.
 * RDCP_FAIL_DELAY_MS: the calls do not fail, but each takes this much longer.
 * RDCP_FAIL_TIMES: how many fail then (-1: all). RDCP_FAIL_LOG: a line is appended to this file for each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "turns.h"

static atomic_long calls_seen;

static _Bool ends_like_it(const char* path) {
  const char* end = getenv("RDCP_FAIL_PATH");
  if (end == NULL) return 1;
  size_t have = strlen(path), wanted = strlen(end);
  return have >= wanted && strcmp(path + have - wanted, end) == 0;
}

/* name: beneath fd; NULL or empty: fd itself. */
static _Bool is_meant(const char* call, int fd, const char* name) {
  const char* wanted = getenv("RDCP_FAIL_CALL");
  if (wanted == NULL || strcmp(wanted, call) != 0) return 0;
  char link[32], path[2 * PATH_MAX];
  size_t length = 0;
  if (name == NULL || name[0] != '/') {
    snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
    ssize_t found = readlink(link, path, PATH_MAX - 1);
    if (found < 0) return 0;
    length = (size_t)found;
  }
  path[length] = '\0';
  if (name != NULL && name[0] != '\0') snprintf(path + length, PATH_MAX, "%s%s", length > 0 ? "/" : "", name);
  return ends_like_it(path);
}

/* True, with errno: the call is to fail. */
static _Bool fails(const char* call, int fd, const char* name) {
  int before = errno;
  const char* after = getenv("RDCP_FAIL_AFTER");
  _Bool fail = is_meant(call, fd, name) && (after == NULL || atomic_fetch_add(&calls_seen, 1) >= atol(after)) &&
               take_turn("RDCP_FAIL_TIMES");
  const char* delay = fail ? getenv("RDCP_FAIL_DELAY_MS") : NULL;
  if (delay != NULL) {
    struct timespec left = {.tv_sec = atol(delay) / 1000, .tv_nsec = atol(delay) % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
    fail = 0;
  }
  if (fail) {
    write_log("RDCP_FAIL_LOG", "failed\n");
    before = atoi(getenv("RDCP_FAIL_ERRNO"));
  }
  errno = before;
  return fail;
}

static size_t bytes_let_through(size_t count) { return count; }

#include "wrapped_calls.h"

int fstatfs(int fd, struct statfs* to) {
  const char* type = getenv("RDCP_FAKE_FILESYSTEM");
  int status = NEXT(fstatfs)(fd, to);
  if (status == 0 && type != NULL) to->f_type = atol(type);
  return status;
}
