/* The calls of glibc that a preloaded library of the tests takes the place of. Who includes this defines
 * _Bool fails(const char* call, int fd, const char* name), which is asked before each of them: true, with
 * errno, if it is to fail (0: it returns 0); and size_t bytes_let_through(size_t), how much of a transfer the
 * kernel gets to see. getdents64, openat2 and landlock_create_ruleset are made through syscall(2), readdir is
 * one entry of a listing. */
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A call of glibc, what it is known as here, what it is made on, and its arguments. */
#define FAILING(result, name, known_as, fd, path, parameters, arguments) \
  result name parameters {                                               \
    if (fails(known_as, fd, path)) return errno == 0 ? 0 : -1;           \
    return NEXT(name) arguments;                                         \
  }

FAILING(int, fstat, "fstat", fd, NULL, (int fd, struct stat* to), (fd, to))
FAILING(int, fstat64, "fstat", fd, NULL, (int fd, struct stat64* to), (fd, to))
FAILING(int, fstatat, "fstatat", fd, path, (int fd, const char* path, struct stat* to, int flags),
        (fd, path, to, flags))
FAILING(int, fstatat64, "fstatat", fd, path, (int fd, const char* path, struct stat64* to, int flags),
        (fd, path, to, flags))
FAILING(ssize_t, read, "read", fd, NULL, (int fd, void* to, size_t count), (fd, to, bytes_let_through(count)))
FAILING(ssize_t, pread, "pread", fd, NULL, (int fd, void* to, size_t count, off_t at),
        (fd, to, bytes_let_through(count), at))
FAILING(ssize_t, pread64, "pread", fd, NULL, (int fd, void* to, size_t count, off64_t at),
        (fd, to, bytes_let_through(count), at))
FAILING(ssize_t, pwrite, "pwrite", fd, NULL, (int fd, const void* from, size_t count, off_t at),
        (fd, from, bytes_let_through(count), at))
FAILING(ssize_t, pwrite64, "pwrite", fd, NULL, (int fd, const void* from, size_t count, off64_t at),
        (fd, from, bytes_let_through(count), at))
FAILING(int, ftruncate, "ftruncate", fd, NULL, (int fd, off_t size), (fd, size))
FAILING(int, ftruncate64, "ftruncate", fd, NULL, (int fd, off64_t size), (fd, size))
FAILING(int, unlinkat, "unlinkat", fd, path, (int fd, const char* path, int flags), (fd, path, flags))
FAILING(int, mkdirat, "mkdirat", fd, path, (int fd, const char* path, mode_t mode), (fd, path, mode))
FAILING(int, linkat, "linkat", to, path, (int from, const char* old, int to, const char* path, int flags),
        (from, old, to, path, flags))
FAILING(int, renameat, "renameat", to, path, (int from, const char* old, int to, const char* path),
        (from, old, to, path))
FAILING(int, renameat2, "renameat2", to, path,
        (int from, const char* old, int to, const char* path, unsigned flags), (from, old, to, path, flags))
FAILING(int, fchmod, "fchmod", fd, NULL, (int fd, mode_t mode), (fd, mode))
FAILING(int, fchownat, "fchownat", fd, path, (int fd, const char* path, uid_t user, gid_t group, int flags),
        (fd, path, user, group, flags))
FAILING(int, futimens, "futimens", fd, NULL, (int fd, const struct timespec times[2]), (fd, times))
FAILING(int, utimensat, "utimensat", fd, path,
        (int fd, const char* path, const struct timespec times[2], int flags), (fd, path, times, flags))
FAILING(int, fsetxattr, "fsetxattr", fd, NULL,
        (int fd, const char* name, const void* value, size_t size, int flags), (fd, name, value, size, flags))
FAILING(ssize_t, flistxattr, "flistxattr", fd, NULL, (int fd, char* names, size_t size), (fd, names, size))
FAILING(int, fsync, "fsync", fd, NULL, (int fd), (fd))
FAILING(int, fdatasync, "fdatasync", fd, NULL, (int fd), (fd))
FAILING(int, flock, "flock", fd, NULL, (int fd, int operation), (fd, operation))
FAILING(int, fallocate, "fallocate", fd, NULL, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
FAILING(int, fallocate64, "fallocate", fd, NULL, (int fd, int mode, off64_t at, off64_t size),
        (fd, mode, at, size))

/* The descriptor is given back all the same, as the kernel does. */
int close(int fd) {
  _Bool fail = fails("close", fd, NULL);
  int error = errno;
  int closed = NEXT(close)(fd);
  if (!fail) return closed;
  errno = error;
  return -1;
}

static int opened(const char* name, int fd, const char* path, int flags, mode_t mode) {
  if (fails("openat", fd, path)) return -1;
  return ((int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, name))(fd, path, flags, mode);
}

#define FAILING_OPENAT(name)                           \
  int name(int fd, const char* path, int flags, ...) { \
    va_list more;                                      \
    va_start(more, flags);                             \
    mode_t mode = va_arg(more, mode_t);                \
    va_end(more);                                      \
    return opened(#name, fd, path, flags, mode);       \
  }
FAILING_OPENAT(openat)
FAILING_OPENAT(openat64)
/* What _FORTIFY_SOURCE makes of it where there is no mode. */
int __openat_2(int fd, const char* path, int flags) {
  return opened("openat", fd, path, flags, 0);
}

#define FAILING_READDIR(name, type)                          \
  struct type* name(DIR* listing) {                          \
    if (fails("readdir", dirfd(listing), NULL)) return NULL; \
    return NEXT(name)(listing);                              \
  }
FAILING_READDIR(readdir, dirent)
FAILING_READDIR(readdir64, dirent64)

long syscall(long number, ...) {
  long words[6];
  va_list more;
  va_start(more, number);
  for (int i = 0; i < 6; ++i) words[i] = va_arg(more, long);
  va_end(more);
  if (number == SYS_getdents64 && fails("getdents64", (int)words[0], NULL)) return -1;
  if (number == SYS_landlock_create_ruleset && fails("landlock_create_ruleset", AT_FDCWD, NULL)) return -1;
  if (number == SYS_openat2 && fails("openat2", (int)words[0], (const char*)words[1])) return -1;
  return NEXT(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
