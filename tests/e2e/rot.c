/* Preloaded into a target agent: what it writes to files goes wrong below the page cache, as on a bad disk. After
 * a write the file is flushed, then one bit of it is flipped in the image of the filesystem that it is on, behind the
 * back of the filesystem: its pages in memory stay right. RDCP_ROT_IMAGE: the image file. RDCP_ROT_TIMES: how often
 * (-1: always). RDCP_ROT_LOG: a line is appended to this file each time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "turns.h"

static const off_t kFlipAt = 100;

/* Where byte `at` of the file lies on its filesystem. */
static off_t place_on_disk(int fd, off_t at) {
  char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)] = {0};
  struct fiemap* map = (struct fiemap*)room;
  map->fm_start = (__u64)at;
  map->fm_length = 1;
  map->fm_flags = FIEMAP_FLAG_SYNC;
  map->fm_extent_count = 1;
  if (ioctl(fd, FS_IOC_FIEMAP, map) != 0 || map->fm_mapped_extents != 1) abort();
  if (map->fm_extents[0].fe_flags & (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE)) abort();
  return (off_t)(map->fm_extents[0].fe_physical + ((__u64)at - map->fm_extents[0].fe_logical));
}

struct spot {
  int fd;
  off_t at;
};

static void flip(void* with) {
  const int fd = ((const struct spot*)with)->fd;
  const off_t at = ((const struct spot*)with)->at;
  ssize_t (*next)(int, const void*, size_t, off_t) =
      (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  if (fdatasync(fd) != 0) abort();
  int image = open(getenv("RDCP_ROT_IMAGE"), O_RDWR);
  off_t place = place_on_disk(fd, at);
  unsigned char byte;
  if (image < 0 || pread(image, &byte, 1, place) != 1) abort();
  byte ^= 1;
  if (next(image, &byte, 1, place) != 1) abort();
  close(image);
}

static ssize_t write_and_rot(const char* name, int fd, const void* bytes, size_t count, off_t offset) {
  ssize_t (*next)(int, const void*, size_t, off_t) =
      (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, name);
  ssize_t written = next(fd, bytes, count, offset);
  struct stat status;
  if (written > (ssize_t)kFlipAt && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && take_turn("RDCP_ROT_TIMES")) {
    struct spot spot = {fd, offset + kFlipAt};
    do_outside(flip, &spot);
    write_log("RDCP_ROT_LOG", "rotten\n");
  }
  return written;
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  return write_and_rot("pwrite", fd, bytes, count, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off_t offset) {
  return write_and_rot("pwrite64", fd, bytes, count, offset);
}
