/* Keeps a virtual machine's memory at hand while a benchmark runs.
 *
 *   warm_memory GIB < LIST      (build: cc -O1 -o warm_memory warm_memory.c)
 *
 * A hypervisor takes free guest memory back in large blocks, and the next first touch of such a block is several times
 * slower than usual, so that a copy's time depends on what ran before it. This program touches GIB of memory, then
 * frees all of it but one page in each 2 MiB: what is free afterwards is warm, and in pieces too small to be taken.
 * The files named in LIST, one path a line up to an empty line, are locked into the page cache. It writes "ready" and
 * stays until its standard input is closed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kPage = 4096, kBlock = 2 << 20 };

static void lock_file(const char *path) {
  struct stat status;
  int fd = open(path, O_RDONLY);
  if (fd < 0 || fstat(fd, &status) != 0) {
    perror(path);
  } else if (status.st_size > 0) {
    void *pages = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (pages == MAP_FAILED || mlock(pages, status.st_size) != 0) perror(path);
  }
  if (fd >= 0) close(fd);
}

static int warm_pool(size_t bytes) {
  /* One block more than asked for, so that the pool can start at a block's edge. */
  char *mapping = mmap(NULL, bytes + kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return -1;
  char *pool = mapping + (kBlock - (size_t)mapping % kBlock) % kBlock;
  madvise(pool, bytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < bytes; i += kPage) pool[i] = 1;
  for (size_t i = 0; i + kBlock <= bytes; i += kBlock) madvise(pool + i + kPage, kBlock - kPage, MADV_DONTNEED);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: warm_memory GIB < LIST\n");
    return 2;
  }
  char path[4096];
  while (fgets(path, sizeof path, stdin) != NULL && path[0] != '\n') {
    path[strcspn(path, "\n")] = '\0';
    lock_file(path);
  }
  if (warm_pool((size_t)(atof(argv[1]) * (1 << 30))) != 0) {
    perror("mmap");
    return 1;
  }
  puts("ready");
  fflush(stdout);
  while (read(STDIN_FILENO, path, sizeof path) > 0) continue;
  return 0;
}
