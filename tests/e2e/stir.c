/* Preloaded into a source: a file changes under the hands of whoever reads it. After a read of it one of its bytes is
 * another one. RDCP_STIR_PATH: how its path ends. RDCP_STIR_TIMES: how often (-1: after each read). RDCP_STIR_BACK: if
 * set, its mtime is set back each time. RDCP_STIR_LOG: a line is appended to this file each time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "turns.h"

static void stir(void* with) {
  const char* path = with;
  ssize_t (*next)(int, void*, size_t, off_t) = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  int fd = open(path, O_RDWR);
  struct stat before;
  unsigned char byte;
  if (fd < 0 || fstat(fd, &before) != 0 || next(fd, &byte, 1, 0) != 1) abort();
  ++byte;
  if (pwrite(fd, &byte, 1, 0) != 1) abort();
  if (getenv("RDCP_STIR_BACK") != NULL && futimens(fd, (struct timespec[]){before.st_atim, before.st_mtim}) != 0) abort();
  close(fd);
}

static ssize_t read_and_stir(const char* name, int fd, void* to, size_t count, off_t offset) {
  ssize_t (*next)(int, void*, size_t, off_t) = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, name);
  ssize_t got = next(fd, to, count, offset);
  char link[32], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  const char* end = getenv("RDCP_STIR_PATH");
  if (got <= 0 || length < 0 || end == NULL) return got;
  path[length] = '\0';
  if ((size_t)length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0 && take_turn("RDCP_STIR_TIMES")) {
    do_outside(stir, path);
    write_log("RDCP_STIR_LOG", "stirred\n");
  }
  return got;
}

ssize_t pread(int fd, void* to, size_t count, off_t offset) {
  return read_and_stir("pread", fd, to, count, offset);
}
ssize_t pread64(int fd, void* to, size_t count, off_t offset) {
  return read_and_stir("pread64", fd, to, count, offset);
}
