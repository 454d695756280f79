/* Preloaded into a sender: its compressor is fifty times as slow as it is, so that no link between two hosts is slower,
 * however busy the machine that both are on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

struct ZSTD_CCtx_s;

static const long kTimesAsSlow = 50;

size_t ZSTD_compress2(struct ZSTD_CCtx_s *context, void *to, size_t room, const void *from, size_t size) {
  size_t (*next)(struct ZSTD_CCtx_s *, void *, size_t, const void *, size_t) = dlsym(RTLD_NEXT, "ZSTD_compress2");
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  const size_t packed = next(context, to, room, from, size);
  clock_gettime(CLOCK_MONOTONIC, &after);
  const long long took = (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec;
  const long long more = took * (kTimesAsSlow - 1);
  const struct timespec rest = {.tv_sec = more / 1000000000LL, .tv_nsec = more % 1000000000LL};
  nanosleep(&rest, NULL);
  return packed;
}
